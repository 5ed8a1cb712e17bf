// GroupQueryAttention over a cache whose length is read from memory: keys and values [batch, KV_HEADS, KEYS, size] of
// halves (CACHE_BITS 16), floats (32) or bytes (8). Queries [batch, LENGTH, KV_HEADS * GROUP * SIZE] and results are floats.
// The rows of a key head are its LENGTH * GROUP queries. Keys come in tiles; rows that have been summed are rescaled
// where a tile has a greater score, so that no row of scores is longer than a tile.
//   ROWS     of a work-group, a power of two; TILE keys and ITEMS work-items, of which each sums the values of
//            V_SIZE / VECTOR places for some keys
//   PARTS    work-groups that share the keys of their rows: tiles part, part + PARTS, ...; more than one leave
//            sums, greatest score and sum of weights for the function `join`
//   ALL_NEW  1: the LENGTH new keys are all that there are
//   TURNS    1: queries, and the one new key that is appended, are turned before (RotaryEmbedding), by the row of tables
//            of TABLE_ROW at a position below POSITIONS: HALF_TURNED pairs, NEIGHBOURS or half of them apart
#include "kernels/opencl/attention/cache.clh"
#ifndef ROWS
#define ROWS 4
#endif
#ifndef TILE
#define TILE 64
#endif
#ifndef ITEMS
#define ITEMS 128
#endif
#ifndef PARTS
#define PARTS 16
#endif
#define BLOCKS ((COUNT + ROWS - 1) / ROWS)
#define LANES (ITEMS / ROWS)
#ifndef PTX
#define PTX 0
#endif
#include "kernels/opencl/one_row/lanes.clh"
#define PLACES (V_SIZE / VECTOR)
#define KEY_PARTS (ITEMS / PLACES)
#define PART_FLOATS (V_SIZE + 2)

#ifndef TURNS
#define TURNS 0
#endif
#if TURNS
#define TURN_PARAMS                                                                                         \
  , __global const float *restrict cosines, const int cosines_offset, __global const float *restrict sines, \
      const int sines_offset, __global const long *restrict position_at, const int position_offset
// Positions outside of the tables cannot be reported here.
#define FIND_TURN                                                                                    \
  __local float turned[SIZE];                                                                        \
  const int table = clamp((int)position_at[position_offset], 0, POSITIONS - 1) * TABLE_ROW;          \
  __global const float *const c = cosines + cosines_offset + table, *const s = sines + sines_offset + table;
#define OF_HEAD(from, d) Turned(from, d, c, s)
// Element d of a head after its turn.
static float Turned(__global const float* from, const int d, __global const float* c, __global const float* s) {
  if (d >= 2 * HALF_TURNED) return from[d];
  const int i = NEIGHBOURS ? d / 2 : d % HALF_TURNED, is_second = NEIGHBOURS ? d % 2 : d / HALF_TURNED;
  const float a = from[NEIGHBOURS ? 2 * i : i], b = from[NEIGHBOURS ? 2 * i + 1 : i + HALF_TURNED];
  return is_second ? a * s[i] + b * c[i] : a * c[i] - b * s[i];
}
DEFINE_STORE(StoreTurned, __local)
// All items take all rounds of the loops that append, and stores have their own condition (cache.clh): behind a barrier
// under a condition PoCL lets items store that a loop's bounds leave out (docs/laboratory/opencl.md).
static void AppendTurned(__global const float* from, __global cache_t* to, __local float* turned,
                         __global const float* c, __global const float* s) {
  for (int first = 0; first < SIZE; first += ITEMS) {
    const int d = first + get_local_id(0);
    if (d < SIZE) turned[d] = Turned(from, d, c, s);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int first = 0; first < SIZE; first += ITEMS) StoreTurned(turned, SIZE, first + (int)get_local_id(0), to);
}
#define APPEND_KEY(from, to, head, row) \
  AppendTurned(from + (head)*SIZE, to + ((head)*KEYS + (row)) * STORED(SIZE), turned, c, s)
#else
#define TURN_PARAMS
#define FIND_TURN
#define OF_HEAD(from, d) (from)[d]
#define APPEND_KEY(from, to, head, row) AppendRow(from, to, head, row, SIZE)
#endif

#if VECTOR == 8
typedef float8 vector_t;
static float8 LoadVector(__global const cache_t* from) {
#if CACHE_BITS == 8
  __global const uint* bits = (__global const uint*)from;  // rows are whole words
  return convert_float8(as_char8((uint2)(bits[0], bits[1])));
#elif CACHE_BITS == 16
  const uint4 bits = *(__global const uint4*)from;
#if PTX
  return (float8)(TwoHalves(bits.x), TwoHalves(bits.y), TwoHalves(bits.z), TwoHalves(bits.w));
#else
  return vload_half8(0, (const half*)&bits);
#endif
#else
  return (float8)(*(__global const float4*)from, *(__global const float4*)(from + 4));
#endif
}
#define SUM_OF(v) (((v).s0 + (v).s1) + ((v).s2 + (v).s3) + ((v).s4 + (v).s5) + ((v).s6 + (v).s7))
#define STORE_VECTOR(v, p) vstore8(v, 0, p)
#define LOAD_LOCAL(p) (*(__local const float8*)(p))
#else
typedef float vector_t;
static float LoadVector(__global const cache_t* from) { return LOAD_CACHE(from, 0); }
#define SUM_OF(v) (v)
#define STORE_VECTOR(v, p) (*(p) = (v))
#define LOAD_LOCAL(p) (*(p))
#endif

static float Greater(const float a, const float b) { return a > b || isnan(a) ? a : b; }

// What an item knows of the row that it helps to weigh: keys that it sees, the greatest score and, of the item's own
// keys, the sum of weights so far.
typedef struct {
  int row, begin, end;
  float greatest, weight;
} row_t;

// Scores of a tile. Keys beyond the end are not looked at afterwards.
static void ScoreTile(__global const cache_t* keys, const int tile, __local const float* queries,
                      __local float* scores, const float softcap) {
  for (int i = get_local_id(0); i < TILE * ROWS; i += ITEMS) {
    const int key = i % TILE, r = i / TILE;
    __global const cache_t* of_key = keys + min(tile + key, KEYS - 1) * STORED(SIZE);
    vector_t dot = 0.0f;
#pragma unroll 8
    for (int d = 0; d < SIZE; d += VECTOR) dot += LoadVector(of_key + d) * LOAD_LOCAL(queries + r * SIZE + d);
    scores[r * TILE + key] = Capped(SUM_OF(dot) * StepOf(of_key, SIZE), softcap);
  }
}

// Scores of a tile to weights, and to `factors` what results so far are worth beside them. Called by all items,
// between barriers.
static void WeighTile(row_t* own, const int tile, __local float* scores, __local float* partial,
                      __local float* factors) {
  const int item = get_local_id(0), lane = item % LANES;
  __local float* of_row = scores + own->row * TILE;
  float now = -INFINITY;
  for (int key = lane; key < TILE; key += LANES)
    if (tile + key >= own->begin && tile + key < own->end) now = Greater(of_row[key], now);
#if SHUFFLES
  for (int other = 1; other < LANES; other *= 2) now = Greater(OfLane(now, other), now);
  now = Greater(now, own->greatest);
#else
  partial[item] = now;
  barrier(CLK_LOCAL_MEM_FENCE);
  now = own->greatest;
  for (int i = 0; i < LANES; ++i) now = Greater(partial[own->row * LANES + i], now);
#endif
  const float factor = now == -INFINITY ? 1.0f : exp(own->greatest - now);
  own->weight *= factor;
  for (int key = lane; key < TILE; key += LANES) {
    const bool is_seen = tile + key >= own->begin && tile + key < own->end;
    const float e = is_seen ? exp(of_row[key] - now) : 0.0f;
    of_row[key] = e;
    own->weight += e;
  }
  own->greatest = now;
  if (lane == 0) factors[own->row] = factor;
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Sums of weights: a row's, or each item's.
#if SHUFFLES
#define PLACE_OF_WEIGHT(item) ((item) / LANES)
#define WEIGHT_OF_LANES(weight) SumOfLanes32(weight)
static float TotalOf(__local const float* partial, const int row) { return partial[row]; }
#else
#define PLACE_OF_WEIGHT(item) (item)
#define WEIGHT_OF_LANES(weight) (weight)
static float TotalOf(__local const float* partial, const int row) {
  float total = 0.0f;
  for (int i = 0; i < LANES; ++i) total += partial[row * LANES + i];
  return total;
}
#endif

// A row's sums of values, which lie apart in `sums`, over `total`, or as a part of them.
static void StoreRow(__global float* y, const int head, const int row, const int part, __local const float* sums,
                     const float greatest, const float total, const int2 of) {
  for (int d = get_local_id(0); d < V_SIZE; d += ITEMS) {
    float sum = 0.0f;
    for (int i = 0; i < KEY_PARTS; ++i) sum += sums[(i * PLACES + d / VECTOR) * VECTOR + d % VECTOR];
#if PARTS > 1
    __global float* to = y + ((head * BLOCKS * ROWS + row) * PARTS + part) * PART_FLOATS;
    to[d] = sum;
    if (d == 0) to[V_SIZE] = greatest;
    if (d == 0) to[V_SIZE + 1] = total;
#else
    const bool sees = FirstSeen(of.y + row / GROUP) < of.x;
    y[RowOfResult(head, row) * V_SIZE + d] = sees ? sum / total : 0.0f;
#endif
  }
}

// Asks for the rows of the tile at `first`, each once, so that they are on their way while queries are made ready.
#if PTX
#define LINE 128
static void AskFor(__global const cache_t* rows, const int size, const int first, const int end) {
  const int lines = (STORED(size) * (int)sizeof(cache_t) + LINE - 1) / LINE, count = min(TILE, end - first);
  for (int i = get_local_id(0); i < count * lines; i += ITEMS) {
    __global const char* at = (__global const char*)(rows + (first + i / lines) * STORED(size)) + i % lines * LINE;
    __asm volatile("prefetch.global.L2 [%0];" : : "l"((ulong)at));
  }
}
#else
#define AskFor(rows, size, first, end) (void)(rows)
#endif

// The one new row of a head into the cache.
static void AppendRow(__global const float* from, __global cache_t* to, const int head, const int row,
                      const int size) {
  for (int first = 0; first < size; first += ITEMS)
    StoreElement(from + head * size, size, first + (int)get_local_id(0), to + (head * KEYS + row) * STORED(size));
}

// lws = {ITEMS}, gws = {PARTS * ITEMS, BLOCKS, batch * KV_HEADS}.
//   appends  1: LENGTH is 1, and the work-groups whose tile has the new key write it, and its value, before
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void attend(
    __global const float* restrict q, const int q_offset, __global cache_t* k, const int k_offset,
    __global cache_t* v, const int v_offset, __global const float* restrict new_k, const int new_k_offset,
    __global const float* restrict new_v, const int new_v_offset, __global const LENGTHS* restrict lengths,
    const int lengths_offset, __global float* restrict y, const int y_offset, const float scale,
    const float softcap, const int appends TURN_PARAMS) {
  __local float queries[ROWS * SIZE] __attribute__((aligned(32)));
  __local float scores[ROWS * TILE], partial[ITEMS], factors[ROWS];
  __local float sums[ITEMS * VECTOR] __attribute__((aligned(32)));
  const int item = get_local_id(0), part = (int)get_global_id(0) / ITEMS, head = get_global_id(2);
  const int first_row = (int)get_global_id(1) * ROWS, last_row = min(first_row + ROWS, COUNT) - 1;
  const int2 of = LengthsOf(lengths + lengths_offset, head / KV_HEADS);
  const int end = min(of.x, of.y + last_row / GROUP + 1);
  const int begin = FirstSeen(of.y + first_row / GROUP) / TILE * TILE;
  AskFor(k + k_offset + head * KEYS * STORED(SIZE), SIZE, begin + part * TILE, end);
  AskFor(v + v_offset + head * KEYS * STORED(V_SIZE), V_SIZE, begin + part * TILE, end);
  FIND_TURN
  // Rows beyond the last repeat it.
  for (int i = item; i < ROWS * SIZE; i += ITEMS) {
    __global const float* of_row = q + q_offset + RowOfResult(head, min(first_row + i / SIZE, last_row)) * SIZE;
    queries[i] = scale * OF_HEAD(of_row, i % SIZE);
  }
  if (appends && (of.y - begin) / TILE % PARTS == part) {
    APPEND_KEY(new_k + new_k_offset, k + k_offset, head, of.y);
    AppendRow(new_v + new_v_offset, v + v_offset, head, of.y, V_SIZE);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

  row_t own = {.row = item / LANES, .greatest = -INFINITY, .weight = 0.0f};
  const int position = of.y + min(first_row + own.row, last_row) / GROUP;
  own.begin = FirstSeen(position);
  own.end = min(position + 1, of.x);
  const int place = item % PLACES, key_part = item / PLACES;
  vector_t result[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) result[r] = 0.0f;
  for (int tile = begin + part * TILE; tile < end; tile += PARTS * TILE) {
    ScoreTile(k + k_offset + head * KEYS * STORED(SIZE), tile, queries, scores, softcap);
    barrier(CLK_LOCAL_MEM_FENCE);
    WeighTile(&own, tile, scores, partial, factors);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) result[r] *= factors[r];
    const int stop = key_part < KEY_PARTS ? min(TILE, end - tile) : 0;
#pragma unroll 4
    for (int key = key_part; key < stop; key += KEY_PARTS) {
      __global const cache_t* of_key = v + v_offset + (head * KEYS + tile + key) * STORED(V_SIZE);
      const vector_t value = LoadVector(of_key + place * VECTOR) * StepOf(of_key, V_SIZE);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) result[r] += scores[r * TILE + key] * value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  partial[PLACE_OF_WEIGHT(item)] = WEIGHT_OF_LANES(own.weight);
  if (item % LANES == 0) factors[own.row] = own.greatest;
  // Unrolled, so that results stay in registers.
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    STORE_VECTOR(result[r], sums + item * VECTOR);
    barrier(CLK_LOCAL_MEM_FENCE);
    const float total = TotalOf(partial, r);
    if (first_row + r < COUNT) StoreRow(y + y_offset, head, first_row + r, part, sums, factors[r], total, of);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// What the parts of each row make together: gws = {V_SIZE, COUNT, batch * KV_HEADS}.
__kernel void join(__global const float* restrict parts, const int parts_offset,
                   __global const LENGTHS* restrict lengths, const int lengths_offset, __global float* restrict y,
                   const int y_offset) {
  const int d = get_global_id(0), row = get_global_id(1), head = get_global_id(2);
  if (d >= V_SIZE || row >= COUNT) return;
  const int2 of = LengthsOf(lengths + lengths_offset, head / KV_HEADS);
  __global const float* from = parts + parts_offset + ((head * BLOCKS * ROWS) + row) * PARTS * PART_FLOATS;
  float greatest = -INFINITY;
  // Unrolled, so that all parts are on their way at once.
#pragma unroll
  for (int part = 0; part < PARTS; ++part) greatest = Greater(from[part * PART_FLOATS + V_SIZE], greatest);
  float sum = 0.0f, total = 0.0f;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    const float least = from[part * PART_FLOATS + V_SIZE];
    const float factor = least == -INFINITY ? 0.0f : exp(least - greatest);
    sum += factor * from[part * PART_FLOATS + d];
    total += factor * from[part * PART_FLOATS + V_SIZE + 1];
  }
  const bool sees = FirstSeen(of.y + row / GROUP) < of.x;
  y[y_offset + RowOfResult(head, row) * V_SIZE + d] = sees ? sum / total : 0.0f;
}
