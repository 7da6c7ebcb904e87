// Debian's own mlir-opt with our module loaded: dialects, passes, pipelines.
// An instrumented module cannot be loaded into an uninstrumented host.
// UNSUPPORTED: sanitizer
// RUN: %stock_mlir_opt --load-dialect-plugin=%fa4_plugin --load-pass-plugin=%fa4_plugin \
// RUN:   --pass-pipeline='builtin.module(canonicalize)' %s | FileCheck %s

// CHECK: module
module {
}
