// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected chip to be one of sm_90a, sm_100a, sm_103a or to state every field, but got "sm_999" without 'ptx'}}
#t = #fa4.target<"sm_999">

// -----

// expected-error @+1 {{expected a field of #fa4.target, but got 'tmem_column'}}
#t = #fa4.target<"sm_100a", tmem_column = 256>

// -----

// expected-error @+1 {{expected each field to be given once, but got 'tmem_columns' twice}}
#t = #fa4.target<"sm_100a", tmem_columns = 256, tmem_columns = 256>

// -----

// expected-error @+1 {{expected 'cta_pairs' to be true or false, but got 'maybe'}}
#t = #fa4.target<"sm_100a", cta_pairs = maybe>

// -----

// expected-error @+1 {{expected tmem_columns to be a power of two, but got 300}}
#t = #fa4.target<"sm_100a", tmem_columns = 300>

// -----

// expected-error @+1 {{expected tmem_lanes to be 0 without tensor memory, but got 128}}
#t = #fa4.target<"sm_100a", tmem_columns = 0>

// -----

// expected-error @+1 {{expected tmem_alloc_granule to be at most tmem_columns, but got 32}}
#t = #fa4.target<"sm_100a", tmem_columns = 16>

// -----

// expected-error @+1 {{expected smem_bytes_per_cta to be positive, but got 0}}
#t = #fa4.target<"sm_100a", smem_bytes_per_cta = 0>

// -----

// expected-error @+1 {{expected mma_rows to be positive numbers, but got -64}}
#t = #fa4.target<"sm_100a", mma_rows = [-64]>

// -----

// expected-error @+1 {{expected mma_rows to be a list of at least one number, but got []}}
#t = #fa4.target<"sm_100a", mma_rows = []>

// -----

// expected-error @+1 {{expected pair_mma_rows to be given exactly if the chip has cta_pairs, but got [] with cta_pairs}}
#t = #fa4.target<"sm_100a", pair_mma_rows = []>

// -----

// expected-error @+1 {{expected min_role_registers to be at most max_role_registers, but got 512}}
#t = #fa4.target<"sm_100a", min_role_registers = 512>

// -----

// expected-error @+1 {{expected threads_per_cta to be a multiple of threads_per_warp, but got 1000}}
#t = #fa4.target<"sm_100a", threads_per_cta = 1000>

// -----

// expected-error @+1 {{expected smem_bytes_per_cta to be at most 2147483647, but got 4294967296}}
#t = #fa4.target<"sm_100a", smem_bytes_per_cta = 4294967296>

// -----

// expected-error @+1 {{expected mma_rows to be at most 4096, but got 1048576}}
#t = #fa4.target<"sm_100a", mma_rows = [1048576]>

// -----

// expected-error @+1 {{expected mma_max_columns to be at most 4096, but got 1048576}}
#t = #fa4.target<"sm_100a", mma_max_columns = 1048576>

// -----

// expected-error @+1 {{expected mma_k_bytes to be a multiple of 16, but got 1}}
#t = #fa4.target<"sm_100a", mma_k_bytes = 1>
