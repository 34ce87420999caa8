"""The cache layer."""
