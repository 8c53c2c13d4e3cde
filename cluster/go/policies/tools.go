//go:build tools

// Keeps in go.mod what is compiled by its own name.
package main

import _ "sigs.k8s.io/kube-network-policies/cmd"
