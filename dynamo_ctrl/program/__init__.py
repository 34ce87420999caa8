"""The program layer."""
