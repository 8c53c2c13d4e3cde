//go:build tools

// Keeps in go.mod what is compiled by its own name.
package main

import _ "github.com/rancher/local-path-provisioner"
