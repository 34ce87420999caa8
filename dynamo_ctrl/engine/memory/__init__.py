"""The memory layer."""
