"""The objects layer: Kubernetes objects as immutable values, and what can be said of one without asking anybody."""
