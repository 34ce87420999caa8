"""Programs that turn a DynamoGraphDeployment into workloads."""
