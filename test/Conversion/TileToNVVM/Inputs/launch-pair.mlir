
// Launches the hand-written forward kernel for pairs; appended to its text.
func.func @attention(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                %o: memref<?x?x?x128xbf16>, %l: memref<?x?x?xf32>, %c: f32) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %b = memref.dim %q, %i0 : memref<?x?x?x128xbf16>
  %sq = memref.dim %q, %i1 : memref<?x?x?x128xbf16>
  %h = memref.dim %q, %i2 : memref<?x?x?x128xbf16>
  %sk = memref.dim %k, %i1 : memref<?x?x?x128xbf16>
  %hk = memref.dim %k, %i2 : memref<?x?x?x128xbf16>
  %g = arith.divui %h, %hk : index
  %c512 = arith.constant 512 : index
  %p = arith.ceildivui %sq, %c512 : index
  %ph = arith.muli %p, %h : index
  %n = arith.muli %ph, %b : index
  %sq32 = arith.index_cast %sq : index to i32
  %sk32 = arith.index_cast %sk : index to i32
  %h32 = arith.index_cast %h : index to i32
  %g32 = arith.index_cast %g : index to i32
  %b32 = arith.index_cast %b : index to i32
  %n32 = arith.index_cast %n : index to i32
  tile.launch @fwd(%q, %k, %v, %o, %l, %c, %sq32, %sk32, %h32, %g32, %b32, %n32) : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?xf32>, f32, i32, i32, i32, i32, i32, i32
  return
}
