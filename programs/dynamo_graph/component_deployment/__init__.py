"""The controller of DynamoComponentDeployments: each becomes a Deployment and a Service."""
