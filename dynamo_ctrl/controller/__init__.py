"""The controller layer."""
