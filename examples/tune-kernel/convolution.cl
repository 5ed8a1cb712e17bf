// y [OC, H, W] = x [IC, H + 2, W + 2] convolved with w [IC, 3, 3, OC], all row-major; W is a
// multiple of VW, H of ROWS and OC of OUT. A work-item makes a vector of VW neighbours in each of
// ROWS rows of OUT planes: gws = {W / VW, H / ROWS, OC / OUT}.
#ifndef VW
#define VW 4
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef OUT
#define OUT 1
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if VW == 1
#define VEC float
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#else
#define VEC JOIN(float, VW)
#define LOAD(p) JOIN(vload, VW)(0, p)
#define STORE(v, p) JOIN(vstore, VW)(v, 0, p)
#endif

__kernel void convolution(const int channels, const int height, const int width,
                          __global const float* restrict x, __global const float* restrict w,
                          __global float* restrict y) {
  const int column = get_global_id(0) * VW;
  const int row = get_global_id(1) * ROWS;
  const int plane = get_global_id(2) * OUT, planes = get_global_size(2) * OUT;
  VEC sum[OUT][ROWS];
#pragma unroll
  for (int o = 0; o < OUT; ++o)
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[o][r] = (VEC)(0.0f);
  for (int c = 0; c < channels; ++c) {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      VEC v[ROWS + 2];
#pragma unroll
      for (int r = 0; r < ROWS + 2; ++r)
        v[r] = LOAD(x + (c * (height + 2) + row + r) * (width + 2) + column + j);
#pragma unroll
      for (int i = 0; i < 3; ++i)
#pragma unroll
        for (int o = 0; o < OUT; ++o) {
          const VEC weight = (VEC)(w[((c * 3 + i) * 3 + j) * planes + plane + o]);
#pragma unroll
          for (int r = 0; r < ROWS; ++r) sum[o][r] = fma(weight, v[r + i], sum[o][r]);
        }
    }
  }
#pragma unroll
  for (int o = 0; o < OUT; ++o)
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      STORE(sum[o][r], y + ((plane + o) * height + row + r) * width + column);
}

// What it must come to: one output per work-item.
__kernel void convolution_reference(const int channels, const int height, const int width,
                                    __global const float* x, __global const float* w,
                                    __global float* y) {
  const int column = get_global_id(0), row = get_global_id(1);
  const int plane = get_global_id(2), planes = get_global_size(2);
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < 9; ++i)
      sum += w[(c * 9 + i) * planes + plane] *
             x[(c * (height + 2) + row + i / 3) * (width + 2) + column + i % 3];
  y[(plane * height + row) * width + column] = sum;
}
