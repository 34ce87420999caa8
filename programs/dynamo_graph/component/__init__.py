"""The provider `component`: each component of a graph becomes one DynamoComponentDeployment."""
