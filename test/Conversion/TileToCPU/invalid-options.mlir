// RUN: fa4-opt %s --convert-tile-to-cpu="workers=0" --verify-diagnostics

// expected-error @+1 {{expected workers and mma-rows to be positive, but got 0 and 8}}
module {
}
