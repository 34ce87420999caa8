"""Schemas of Kubernetes' own types for CRDs, from the OpenAPI document of a real kube-apiserver.

`python -m envtest.openapi` (part of `make generate`) starts a server and writes the files; a test compares them with the server
that it runs on.
"""
