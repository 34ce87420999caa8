"""The API group `nvidia.com/v1beta1`: typed models, names that users and other programs rely on, and rules."""
