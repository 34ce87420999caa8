"""The manager layer."""
