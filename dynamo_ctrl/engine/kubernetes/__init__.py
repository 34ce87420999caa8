"""The kubernetes layer."""
