"""The simulated data plane: what a real cluster runs, as ordinary programs on this library.

An API server alone never makes a Deployment ready. These programs do: Deployments roll their ReplicaSets, ReplicaSets keep
their Pods, and Pods live as if there were a kubelet. Time comes from the `Request` alone, so a simulation can turn the clock.

    deployment.DeploymentProgram      rolling updates, scaling, pausing, progress deadlines
    replica_set.ReplicaSetProgram     creates Pods, and chooses which ones go
    pod.PodProgram                    schedules, starts, crashes and ends Pods
    claim.ClaimProgram                binds PersistentVolumeClaims
    leader_worker_set.LeaderWorkerSetProgram    groups of Pods; also for a real cluster where nobody else makes them

Annotations on a Pod (`annotations.py`) steer its life. The harness of the real cluster reads the same ones, so the same
manifests behave alike on both; `tests/programs/data_plane/scenarios` compares them.
"""
