"""A controller-runtime for Python."""
