// Changes attention's scores before their softmax, and places its results.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/attention/seen_keys.h"
#include "kernels/kernel.h"
#include "kernels/match/attention.h"

namespace fettle::kernels {

/// Attention of floats; kUnsupported where the group is no attention, or has operands of f64 or of
/// no float type.
Result<Attention> ReadFloatAttention(const ir::Graph& group, const Device& device);

/// Where matrix `matrix` of an operand begins, in elements.
int64_t FirstOf(const AttentionOperand& operand, int64_t matrix);
/// Row `row` of matrix `matrix` of input `input` of a launch.
inline const float* RowsOf(const LaunchArgs& args, int input, const AttentionOperand& operand,
                           int64_t matrix, int64_t row) {
  return args.inputs[input].host<float>() + FirstOf(operand, matrix) + row * operand.row_stride;
}
/// Which input of the group `id` is; -1: none.
int InputOf(const ir::Graph& group, ir::ValueId id);

/// A block of scores: rows `stride` floats apart for queries from `query` on of one matrix, and
/// keys from `key` on.
struct ScoreBlock {
  int64_t matrix, query, rows, key, keys, stride;
  float* scores;
};

/// The sums and the fill of a group's scores. Safe to use in several threads.
class MaskedScores {
 public:
  MaskedScores(const std::shared_ptr<const ir::Graph>& group, const Attention& attention);

  /// PreparedKernel::packs of a kernel that has no others.
  std::vector<PackRequest> packs() const;
  bool has_packs() const { return group_ != nullptr; }
  /// The range of keys that some of the queries see; keys outside of it change no result.
  KeyRange SeenBy(const LaunchArgs& args, int64_t matrix, int64_t query, int64_t rows) const;
  /// Scaled products become scores.
  void Apply(const LaunchArgs& args, const ScoreBlock& block) const;

 private:
  /// Where an operand of the group lies at launch.
  struct Place {
    int bound = -1, packed = -1;
  };
  /// A row of scores += scale * what is added to them.
  struct Addend {
    AttentionOperand operand;
    float scale;
    Place place;
  };

  PackRequest PackCondition() const;
  static const Location& LocationOf(const LaunchArgs& args, const Place& place) {
    return place.packed >= 0 ? args.packed[place.packed] : args.inputs[place.bound];
  }

  std::shared_ptr<const ir::Graph> group_;  // null: nothing is packed
  std::vector<Addend> addends_;
  std::vector<ir::ValueId> constants_;
  std::optional<Attention::Fill> fill_;
  Place fill_place_;
  int64_t keys_;
};

/// Rows from `query` on of a matrix of the results: those of `y` [rows, v_size] over the sums that
/// are `known`. Without a number among its scores a row is NaN, or 0 where that is asked for.
void StoreRows(const LaunchArgs& args, const Attention& attention, int64_t matrix, int64_t query,
               int64_t rows, const TiledRow* known, const float* y);

/// y [rows, qk_size] = scale * rows from `query` on of a matrix of the queries, which are input
/// `input`.
void ScaleQueries(const LaunchArgs& args, const Attention& attention, int input, int64_t matrix,
                  int64_t query, int64_t rows, float* y);

}  // namespace fettle::kernels
