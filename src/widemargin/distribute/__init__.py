"""The same learners on a cluster: partitions, their mixture, and the engines that run them."""
