"""The queue layer."""
