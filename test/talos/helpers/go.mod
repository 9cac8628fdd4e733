module ichor/rig

go 1.26.0
