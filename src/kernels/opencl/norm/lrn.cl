// Local response normalisation across channels: x / (bias + alpha * sum of squares)^beta over the
// channels from `before` below to `after` above. x and y are in pixels of four channels
// (access.clh); a work-item makes one pixel of y: gws = {height * width, channel blocks, batch}.
// `alpha` is already divided by the window's size.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

__kernel void lrn(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 dims,
                  const int before, const int after, const float alpha, const float beta,
                  const float bias EXPRESSION_PARAMS) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (place >= dims.y * dims.z || block >= dims.x) return;
  const int row = place / dims.z, column = place % dims.z;
  const int4 channel = block * 4 + (int4)(0, 1, 2, 3);
  const int first = max(block * 4 - before, 0) / 4;
  const int last = min((block * 4 + 3 + after) / 4, dims.x - 1);
  float4 squares = (float4)(0.0f);
  for (int q = first; q <= last; ++q) {
    const float4 v = LOAD4(x, x_dims, n, q, row, column);
    const float4 square = v * v;
    const float lanes[4] = {square.x, square.y, square.z, square.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int4 distance = q * 4 + i - channel;
      const int4 is_near = distance >= -before && distance <= after;
      squares += select((float4)(0.0f), (float4)(lanes[i]), is_near);
    }
  }
  const float4 v = LOAD4(x, x_dims, n, block, row, column);
  const float4 scaled = v * powr(bias + alpha * squares, (float4)(-beta));
  const float4 result = FINISH(scaled, dims, n, block, row, column);
  STORE4(result, y, dims, n, block, row, column);
}
