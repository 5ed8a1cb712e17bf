// Y = Softmax(SCALE * Q K' + sums + mask) V for each matrix of a batch, in one launch: the scores of ROWS
// queries stay in local memory. A work-group makes ROWS rows of Y: lws = {ITEMS, 1, 1},
// gws = {ceil(QUERIES / ROWS) * ITEMS, matrices, 1}.
// Operands are those of strided.clh.
//   VECTORS   1: columns are neighbours, rows begin at multiples of 8 elements, SIZE and V_SIZE are such
//   STAGED    1: keys and values are copied to local memory first, all at once (VECTORS 1, stored as f16)
//   PARTS     a work-item makes ROWS / PARTS scores of a key
#include "kernels/opencl/attention/strided.clh"
#include "kernels/opencl/multiply_add.clh"
#ifndef VECTORS
#define VECTORS 1
#endif
#ifndef STAGED
#define STAGED 0
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef PARTS
#define PARTS 2
#endif
#ifndef ITEMS
#define ITEMS 128
#endif
#define PART_ROWS (ROWS / PARTS)
// Work-items of a row while it is normalised.
#define LANES (ITEMS / ROWS)
#define OCTETS ((SIZE + 7) / 8)
#define QUADS ((V_SIZE + 3) / 4)
// Work-items that share four results.
#if ITEMS >= 2 * ROWS * QUADS
#define VALUE_PARTS (ITEMS / (ROWS * QUADS))
#else
#define VALUE_PARTS 1
#endif
// Of a staged key: an octet more, so that neighbours lie in other banks.
#define KEY_PITCH (OCTETS + 1)

// Eight elements of a row from column `at` on, as floats; zero beyond `columns`.
static float8 LoadEight(__global const storage_t* from, const int at, const int stride, const int columns) {
#if VECTORS && FETTLE_HALF && FETTLE_COMPUTE != 1
  const uint4 bits = *(__global const uint4*)(from + at);
  return vload_half8(0, (const half*)&bits);
#elif VECTORS && !FETTLE_BFLOAT
  return (float8)(*(__global const float4*)(from + at), *(__global const float4*)(from + at + 4));
#else
  float lanes[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) lanes[i] = at + i < columns ? LOAD(from, (at + i) * stride) : 0.0f;
  return vload8(0, lanes);
#endif
}
static float4 LoadFour(__global const storage_t* from, const int at, const int stride, const int columns) {
#if VECTORS && FETTLE_HALF && FETTLE_COMPUTE != 1
  const uint2 bits = *(__global const uint2*)(from + at);
  return vload_half4(0, (const half*)&bits);
#elif VECTORS && !FETTLE_BFLOAT
  return *(__global const float4*)(from + at);
#else
  float lanes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) lanes[i] = at + i < columns ? LOAD(from, (at + i) * stride) : 0.0f;
  return vload4(0, lanes);
#endif
}
static void StoreFour(const float4 value, __global storage_t* to, const int at) {
#if VECTORS && FETTLE_HALF && FETTLE_COMPUTE != 1
  uint2 bits;
  vstore_half4_rte(value, 0, (half*)&bits);
  *(__global uint2*)(to + at) = bits;
#elif VECTORS && !FETTLE_BFLOAT
  *(__global float4*)(to + at) = value;
#else
  float lanes[4];
  vstore4(value, 0, lanes);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (at + i < V_SIZE) STORE(lanes[i], to, (at + i) * Y_COLUMN);
#endif
}
static float SumOfProducts(const float8 a, const float8 b, const float sum) {
  float4 products = a.lo * b.lo;
  products = MULTIPLY_ADD(a.hi, b.hi, products);
  return sum + ((products.x + products.y) + (products.z + products.w));
}

#if STAGED
// Rows of octets from `from` on, `pitch` octets apart in local memory.
#define STAGE(to, pitch, from, stride, octets)                      \
  _Pragma("unroll") for (int i = item; i < KEYS * (octets); i += ITEMS) \
      to[i / (octets) * (pitch) + i % (octets)] =                   \
          *(__global const uint4*)((from) + i / (octets) * (stride) + i % (octets) * 8);
static float8 OctetOf(__local const uint4* from) {
  const uint4 bits = *from;
  return vload_half8(0, (const half*)&bits);
}
static float4 QuadOf(__local const uint2* from) {
  const uint2 bits = *from;
  return vload_half4(0, (const half*)&bits);
}
#define KEY_OCTET(key, octet) OctetOf(keys + (key) * KEY_PITCH + (octet))
#define VALUE_QUAD(key, quad) QuadOf((__local const uint2*)values + (key) * QUADS + (quad))
#else
#define KEY_OCTET(key, octet) LoadEight(keys + (key) * K_ROW, (octet) * 8, K_COLUMN, SIZE)
#define VALUE_QUAD(key, quad) LoadFour(values + (key) * V_ROW, (quad) * 4, V_COLUMN, V_SIZE)
#endif

// Scores to exponents, less the largest of a row, and `partial` to their sums for each of LANES work-items of
// a row. Called by all items, between barriers.
static void Exponentiate(__local float* scores, __local float* partial, const int item) {
  __local float* of_row = scores + item / LANES * KEYS;
  __local const float* partial_of_row = partial + item / LANES * LANES;
  float largest = -INFINITY;
  for (int key = item % LANES; key < KEYS; key += LANES) {
    const float score = of_row[key];
    largest = score > largest || isnan(score) ? score : largest;
  }
  partial[item] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < LANES; ++i) {
    const float score = partial_of_row[i];
    largest = score > largest || isnan(score) ? score : largest;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int key = item % LANES; key < KEYS; key += LANES) {
    const float e = exp(of_row[key] - largest);
    of_row[key] = e;
    sum += e;
  }
  partial[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Values over the sum of their weights, or 0 where that is NaN and shall be.
static float4 Divide(const float4 values, const float total) {
  return NAN_TO_ZERO && isnan(total) ? (float4)(0.0f) : values / total;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    SOURCES, __global storage_t* restrict y, const int y_offset, const float scale SUMS_PARAMS MASK_PARAMS) {
  __local float scores[ROWS * KEYS];
  __local float queries[ROWS * OCTETS * 8];
  __local float partial[ITEMS];
#if VALUE_PARTS > 1
  __local float4 results[ITEMS];
#endif
  const int item = get_local_id(0), matrix = get_global_id(1);
  // Launches may come in pieces (StreamOptions::kernel_ms), at offsets of whole work-groups.
  const int first = (get_group_id(0) + get_global_offset(0) / ITEMS) * ROWS;

  __global const storage_t* key_rows = k + k_offset + OF_MATRIX(K, matrix);
  __global const storage_t* value_rows = v + v_offset + OF_MATRIX(V, matrix);
#if STAGED
  __local uint4 keys[KEYS * KEY_PITCH]; __local uint4 values[KEYS * QUADS / 2];
  STAGE(keys, KEY_PITCH, key_rows, K_ROW, OCTETS)
  STAGE(values, QUADS / 2, value_rows, V_ROW, QUADS / 2)
#else
#define keys key_rows
#define values value_rows
#endif

  for (int i = item; i < ROWS * OCTETS; i += ITEMS) {
    // Rows beyond the last repeat it.
    const int row = min(first + i / OCTETS, QUERIES - 1);
    const float8 octet =
        LoadEight(q + q_offset + OF_MATRIX(Q, matrix) + row * Q_ROW, i % OCTETS * 8, Q_COLUMN, SIZE);
    vstore8(octet * scale, i, queries);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int i = item; i < KEYS * PARTS; i += ITEMS) {
    const int key = i % KEYS, part = i / KEYS;
    float sum[PART_ROWS];
#pragma unroll
    for (int r = 0; r < PART_ROWS; ++r) sum[r] = 0.0f;
#pragma unroll 4
    for (int octet = 0; octet < OCTETS; ++octet) {
      const float8 of_key = KEY_OCTET(key, octet);
#pragma unroll
      for (int r = 0; r < PART_ROWS; ++r)
        sum[r] = SumOfProducts(vload8((part * PART_ROWS + r) * OCTETS + octet, queries), of_key, sum[r]);
    }
#pragma unroll
    for (int r = 0; r < PART_ROWS; ++r) {
      const int of_part = part * PART_ROWS + r;
#if SUMS || MASK
      const int row = min(first + of_part, QUERIES - 1);
#endif
#if SUMS
      sum[r] += sums[(matrix % SUMS_PERIOD * QUERIES + row) * KEYS + key];
#endif
#if MASK
      sum[r] += mask_scale * LOAD(m, m_offset + OF_MATRIX(M, matrix) + row * M_ROW + key * M_COLUMN);
#endif
      scores[of_part * KEYS + key] = sum[r];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  Exponentiate(scores, partial, item);
  for (int i = item; i < ROWS * QUADS * VALUE_PARTS; i += ITEMS) {
    const int row = i / QUADS % ROWS, quad = i % QUADS;
    float4 result = 0.0f;
#pragma unroll 8
    for (int key = i / (ROWS * QUADS); key < KEYS; key += VALUE_PARTS) {
      const float4 value = VALUE_QUAD(key, quad);
      result = MULTIPLY_ADD((float4)(scores[row * KEYS + key]), value, result);
    }
#if VALUE_PARTS > 1
    results[i] = result;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < ROWS * QUADS; i += ITEMS) {
    const int row = i / QUADS, quad = i % QUADS;
    float4 result = results[i];
    for (int part = 1; part < VALUE_PARTS; ++part) result += results[i + part * ROWS * QUADS];
#endif
    float total = 0.0f;
    for (int lane = 0; lane < LANES; ++lane) total += partial[row * LANES + lane];
    if (first + row < QUERIES)
      StoreFour(Divide(result, total), y + y_offset + OF_MATRIX(Y, matrix) + (first + row) * Y_ROW, quad * 4);
  }
}
