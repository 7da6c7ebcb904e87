// RUN: fa4-opt %s --split-input-file --attn-select-schedule --verify-diagnostics

!q = tensor<1x64x4x64xbf16>

func.func @no_target(%q: !q) -> !q {
  // expected-error @+1 {{expected the module to have 'fa4.target', but got no target}}
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %o : !q
}

// -----

!q = tensor<1x64x4x192xbf16>

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @asked_too_much(%q: !q) -> !q {
    // expected-error @+1 {{expected tensor memory to be at most 512 columns, but got 640 (2 x 192 @o_mem + 2 x 128 @sp_mem); the schedule that was asked for does not fit sm_100a, the nearest legal choice is tile = 128 x 64, stages = 2}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2>)
    return %o : !q
  }
}

// -----

!q = tensor<1x64x4x128xbf16>

module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @other_chip(%q: !q) -> !q {
    // expected-error @+1 {{expected rows of one matrix instruction to be one of 64, but got 128; the schedule that was asked for does not fit sm_90a, the nearest legal choice is tile = 64 x 128, stages = 2}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2>)
    return %o : !q
  }
}

// -----

!q = tensor<1x64x4x128xbf16>

module attributes {fa4.target = #fa4.target<"sm_100a", tmem_columns = 64>} {
  func.func @nothing_fits(%q: !q) -> !q {
    // expected-error @+1 {{expected tensor memory to be at most 64 columns, but got 144 (1 x 128 @o_mem + 1 x 16 @sp_mem); no schedule for head dims 128 and 128 fits sm_100a, the nearest legal choice is head dims 48 and 48}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
    return %o : !q
  }
}

// -----

!q = tensor<1x64x4x128xbf16>

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @backward(%q: !q) -> !q {
    // expected-error @+1 {{expected the schedule of a forward op to be forward, but got backward}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) schedule(#fa4.schedule<backward, tile = 128 x 128>)
    return %o : !q
  }
}

// -----

!q = tensor<1x64x4x80xbf16>

// Each CTA of a pair holds half of v's columns, whole steps of them.
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @no_halves(%q: !q) -> !q {
    // expected-error @+1 {{expected the padded head dim of v to be a multiple of 32 with ctas = 2, but got 80; the schedule that was asked for does not fit sm_100a, the nearest legal choice is tile = 128 x 128, stages = 2 with ctas = 1}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 2>)
    return %o : !q
  }
}

// -----

!q = tensor<1x64x4x128xbf16>

module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @no_pairs(%q: !q) -> !q {
    // expected-error @+1 {{expected ctas to be 1 on a chip without cta_pairs, but got 2; the schedule that was asked for does not fit sm_90a, the nearest legal choice is tile = 64 x 80, stages = 2 with ctas = 1}}
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) schedule(#fa4.schedule<forward, tile = 64 x 80, stages = 2, ctas = 2>)
    return %o : !q
  }
}
