// Where the sums of a product of bytes go: requantised to bytes, through an element-wise program,
// or as they are. What kernels of such products have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/conv/pixels.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/operands.h"
#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {

struct QuantProduct;

/// A tile of at most kMaxTileSums sums: `rows` pixels that follow each other in the output from
/// `pixel` on, by the columns of one panel.
struct QuantTile {
  const int32_t* sums = nullptr;
  int64_t stride = 0;                 // elements from row to row
  const int32_t* row_sums = nullptr;  // null: none
  int64_t rows = 0, pixel = 0;
  int64_t group = 0, panel = 0;
};

/// One launch's results.
struct QuantLaunch {
  const CpuLaunch& args;
  elementwise::Binding binding;
  const int32_t* init = nullptr;  // of all columns; null: the sums hold it
  RequantiseArgs common = {};     // as far as all tiles have it in common
  /// Of all columns, where the program scales.
  std::span<float> factors = {}, addends = {};
};

/// Immutable.
class QuantResults {
 public:
  /// `program` makes results of floats, where there is one.
  QuantResults(const Problem& problem, const QuantisedGroup& q, const PixelLayout& out,
               const QuantLayout& layout, std::optional<elementwise::Program> program);

  /// Constants that the program wants packed; they follow the weights.
  std::span<const PackRequest> packs() const;
  /// `columns`: room for column_floats() values.
  QuantLaunch Begin(const CpuLaunch& args, const int32_t* init, float* columns) const;
  int64_t column_floats() const { return scales_sums_ ? 2 * columns_.count : 0; }
  /// `scratch` is the lane's, scratch_bytes() of it, 64-byte aligned.
  void Store(const QuantLaunch& launch, const QuantTile& tile, std::byte* scratch) const;
  void End(const QuantLaunch& launch) const;
  /// Whether micro-kernels may store a tile themselves, if no row sums matter: plain bytes that are
  /// bounded, channels-last.
  bool TilesFinish() const { return tiles_finish_; }
  bool makes_bytes() const { return requantise_.has_value(); }
  /// What they need for it, of the tiles of a panel; `bytes` are those of pixel 0.
  RequantiseArgs OfPanel(const QuantLaunch& launch, int64_t group, int64_t panel) const;
  /// Has tiles of a panel, whose first row is that of `pixel`, store what the sums become where it
  /// goes; says whether that can be. For kernels that finish tiles, if no row sums matter;
  /// `scales`: they scale.
  bool StoreInPlace(const QuantLaunch& launch, const QuantTile& first, bool scales,
                    QuantTileArgs& tile) const;
  int64_t scratch_bytes() const;
  /// The output may take the place of a shortcut.
  std::vector<Alias> aliases() const;

 private:
  void StoreBlock(const QuantLaunch& launch, RequantiseArgs& out, int64_t pixel, int64_t channel,
                  int64_t column, std::byte* scratch) const;

  void UseShortcut(const Problem& problem, const QuantisedGroup& q);
  /// `column` is the first one among the padded columns.
  void SetColumns(const QuantLaunch& launch, int64_t column, RequantiseArgs& out) const;

  /// Of the columns from `channel` on.
  ScaledFloats ScaleOf(const QuantLaunch& launch, int64_t channel) const;

  /// Where the columns' values lie in the packed weights, in bytes.
  struct Columns {
    int64_t zeros, scales, adds;
    int64_t count;  // of columns
  };
  /// The columns of a group lie among the padded ones.
  int64_t PaddedColumn(int64_t group, int64_t first) const {
    return group * group_columns_ + first;
  }
  void FillScaling(QuantLaunch& launch, float* columns) const;

  std::optional<QuantisedGroup::Requantise> requantise_;
  PixelLayout out_;
  int64_t nr_, oc_, group_columns_;  // of a panel, of a group, of a group's panels
  Columns columns_;
  std::optional<elementwise::Program> program_;
  std::optional<elementwise::ScaledValue> scaled_;  // the program, where it is this
  bool scales_sums_ = false;                        // by the program alone
  PadLanes pads_;
  DType output_;
  bool one_image_;  // channels-last: pixels of all images follow each other
  Requantise run_ = RunRequantise;
  PairRowArgs sum_;  // with a shortcut
  std::optional<FusedSum> fused_;
  int shortcut_ = -1;  // among the inputs; -1: none
  bool in_place_ = false, tiles_finish_ = false;
};

/// What kernels of products of bytes have in common: packed weights, what sums begin with, and
/// where results go.
class QuantKernel : public CpuKernel {
 public:
  std::vector<PackRequest> packs() const override;
  std::vector<Alias> aliases() const override { return results_.aliases(); }

 protected:
  /// `form` names that of the packed weights. `flips`: of QuantOperands. Takes the program.
  QuantKernel(QuantProduct& p, const QuantLayout& layout, std::string_view form, bool flips,
              const CpuDevice& device);

  /// QuantResults::Store by a lane.
  void Store(const QuantLaunch& launch, const QuantTile& tile, int lane) const {
    results_.Store(launch, tile, launch.args.At(finishing_, lane));
  }

  QuantisedGroup q_;
  ConvGeometry g_;
  QuantOperands operands_;
  QuantResults results_;
  QuantLaunch Begin(const CpuLaunch& args, const int32_t* init) const {
    return results_.Begin(args, init, args.At(scaling_));
  }

  RunScratch<int32_t> init_;  // of all columns

 private:
  std::string form_;
  LaneScratch<std::byte> finishing_;
  RunScratch<float> scaling_;
};

}  // namespace fettle::kernels
