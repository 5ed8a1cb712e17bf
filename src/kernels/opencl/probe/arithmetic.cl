// One arithmetic instruction over and over in registers: eight independent chains in vectors of 1 to 16
// lanes. gws = {work-items}.
//   ELEMENT   the type of a lane; IS_INT 1 for int
//   FUSED     1: fma, 0: what the device makes of a multiplication and an addition
//   DOT       1: products of bytes, added by fours to int, in place of multiply-adds
//   m, one    -1 and 1, which the compiler is not to know: a lane becomes 1 - x, and x again
//   out       the sum of all lanes and chains
#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef IS_INT
#define IS_INT 0
#endif
#ifndef FUSED
#define FUSED 0
#endif
#ifndef DOT
#define DOT 0
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR(width) JOIN(ELEMENT, width)

#if DOT
#define NEXT(x) (x + dot_4x8packed_ss_int(factors, factors))
#elif IS_INT
#define NEXT(x) (x * m + one)
#elif FUSED
#define NEXT(x) fma(x, m, one)
#else
#define NEXT(x) mad(x, m, one)
#endif

// As a float: whole numbers that it holds.
#if IS_INT
#define RESULT(sum) (float)((sum) & 0xffff)
#else
#define RESULT(sum) (float)(sum)
#endif

#define CHAINS(name, vec, width, store)                                                        \
  __kernel void name(__global float* restrict out, const int minus, const int plus,            \
                     const uint factors, const int rounds) {                                   \
    const vec m = (vec)((ELEMENT)minus), one = (vec)((ELEMENT)plus);                           \
    vec a = (vec)((ELEMENT)(get_global_id(0) & 3)), b = a + one, c = b + one, d = c + one;     \
    vec e = d + one, f = e + one, g = f + one, h = g + one;                                    \
    for (int i = 0; i < rounds; ++i) {                                                         \
      a = NEXT(a);                                                                             \
      b = NEXT(b);                                                                             \
      c = NEXT(c);                                                                             \
      d = NEXT(d);                                                                             \
      e = NEXT(e);                                                                             \
      f = NEXT(f);                                                                             \
      g = NEXT(g);                                                                             \
      h = NEXT(h);                                                                             \
    }                                                                                          \
    ELEMENT lanes[width];                                                                      \
    store(a + b + c + d + e + f + g + h);                                                      \
    ELEMENT sum = lanes[0];                                                                    \
    for (int i = 1; i < width; ++i) sum += lanes[i];                                           \
    out[get_global_id(0)] = RESULT(sum);                                                       \
  }

#define STORE_1(v) lanes[0] = v
#define STORE_2(v) vstore2(v, 0, lanes)
#define STORE_4(v) vstore4(v, 0, lanes)
#define STORE_8(v) vstore8(v, 0, lanes)
#define STORE_16(v) vstore16(v, 0, lanes)

CHAINS(probe_x1, ELEMENT, 1, STORE_1)
#if !DOT
CHAINS(probe_x2, VECTOR(2), 2, STORE_2)
CHAINS(probe_x4, VECTOR(4), 4, STORE_4)
CHAINS(probe_x8, VECTOR(8), 8, STORE_8)
CHAINS(probe_x16, VECTOR(16), 16, STORE_16)
#endif
