// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected the window's left bound to be none or to fit 32 bits, but got 2147483648}}
#w = #attn.window<left = 2147483648, right = none> // M4

// -----

// expected-error @+1 {{expected the window's right bound to be none or to fit 32 bits, but got -2147483649}}
#w = #attn.window<left = 1, right = -2147483649> // M4
