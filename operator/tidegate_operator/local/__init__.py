"""`tidegate up`: the operator's own loop over processes of this machine, in the place of pods.

Rules: nothing here decides about groups. The operator's modules run as they do in a cluster; what
stands in for the cluster is a store of objects (`store`, `api`), the controllers and the kubelet
(`controllers`, `kubelet`), and a hub and storage of our own (`embedded`).
"""

from __future__ import annotations
