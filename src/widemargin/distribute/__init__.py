"""Training on a cluster: partitions, how their weights are mixed, and the engines that run them."""
