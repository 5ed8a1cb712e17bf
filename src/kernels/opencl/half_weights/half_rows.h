// Products by weights that 16 bits hold exactly (half_weights/rows.cl).
#pragma once

#include "kernels/fields.h"
#include "kernels/match/product.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

struct HalfFacts {
  Product p;
  DType storage = DType::kF16;
  bool widened = false;  // f32 that is read as what it was made of; else f16, which others know too
};

/// Work-items of a group, those that share a row of weights, rows of weights that each sums at a
/// time, and rows that they are multiplied by.
struct HalfTile {
  int64_t items = 128, lanes = 32, columns = 4, rows = 1;

  int64_t group_columns() const { return items / lanes * columns; }
  int64_t bytes() const { return rows * columns * items * 4; }
};
inline constexpr Fields kHalfFields("half_weights/rows.cl",
                                    Field{"items", &HalfTile::items, {32, 64, 128, 256}, "ITEMS"},
                                    Field{"lanes", &HalfTile::lanes, {8, 16, 32, 64}, "LANES"},
                                    Field{"columns", &HalfTile::columns, {1, 2, 4, 8}, "COLUMNS"},
                                    Field{"rows", &HalfTile::rows, {1, 2, 4, 8}, "ROWS"});

inline constexpr HalfTile kLeastHalfTile{.items = 32, .lanes = 32, .columns = 1};

Status CheckHalfTile(const HalfTile& tile, const OpenClFacts& of);
/// Of `n` columns in all: as many to a work-item as leave each compute unit two groups.
HalfTile UsualHalfTile(const HalfFacts& facts, int64_t n, const OpenClFacts& of);

/// A product by constant weights; kUnsupported with the reason.
Result<HalfFacts> ReadHalfProduct(const ir::Graph& group, const Product& p, const Device& device);

/// Floats, row-major, of one result that an expression finishes.
Result<std::vector<StateAssignment>> HalfRowStates(const ir::Graph& group, const HalfFacts& facts,
                                                   const Device& device);

/// [n, k], in their bits.
PackRequest PackHalfWeights(const HalfFacts& facts);

/// What half_weights/rows.cl asks for.
BuildOptions HalfOptions(const HalfFacts& facts, const HalfTile& tile, const Device& device);

}  // namespace fettle::kernels
