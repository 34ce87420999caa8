"""Rendering: from a graph to component deployments, from a component deployment to a Deployment and its Services.

Pure functions over JSON trees: the same input gives the same output, nothing is read from a cluster, nothing given is changed.
"""
