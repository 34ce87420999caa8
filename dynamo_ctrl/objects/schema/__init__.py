"""From pydantic models to CustomResourceDefinitions.

`marks` says what Python's types cannot, `structural` turns a model into a structural schema, `crd` builds the document.
"""
