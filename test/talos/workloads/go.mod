module ichor/workloads

go 1.26.0
