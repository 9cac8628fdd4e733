module ichor/tools/talos-source

go 1.26.0

require github.com/siderolabs/talos v1.14.1
