"""Typed, frozen views of the built-in kinds that programs read.

Fields that nobody reads are not declared; they stay in the bytes.
"""
