// What the kernels of recurrent layers share: states, steps and results. How their products are
// made is a kernel's own.
#pragma once

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/recurrent/cell.h"
#include "kernels/match/usual_cell.h"

namespace fettle::kernels {

class RecurrentLayer : public CpuKernel {
 public:
  std::vector<PackRequest> packs() const override;
  Status Run(const CpuLaunch& args) const override;

 protected:
  RecurrentLayer(const Problem& problem, const ops::RecurrentAttributes& cell);

  virtual PackRequest PackWeights(const ir::Node& node) const = 0;
  /// Writes the input products of all steps, with their biases, to SumsOf() of each direction.
  virtual void RunInputs(const CpuLaunch& args, const float* x) const = 0;
  /// out[batch][gate] (+)= rows[batch] * R[gate]^T, for gates [first, last) of a direction. Not
  /// accumulated, the sums have their biases.
  virtual void StateProduct(const CpuLaunch& args, int64_t direction, int64_t first, int64_t last,
                            const float* rows, float* out, bool accumulate) const = 0;
  /// Whether all threads compute a step of one direction; otherwise directions run in parallel.
  virtual bool splits_steps() const = 0;

  const ops::RecurrentAttributes& cell() const { return cell_; }
  const RecurrentCells& cells() const { return cells_; }
  int64_t Rows() const { return cell_.steps * cell_.batch; }
  int64_t GateElements() const { return cell_.gates * cell_.hidden; }
  const std::byte* Packed(const CpuLaunch& args) const { return args.packed[0].host<std::byte>(); }
  /// Of a direction, [steps * batch][gates * hidden]: input products, then gates.
  float* SumsOf(const CpuLaunch& args, int64_t direction) const {
    return args.At(sums_) + direction * SumFloats();
  }

 private:
  static constexpr size_t kOutputs = 3;  // all states, last state, last cell state

  /// The scratch of one direction.
  struct Lane {
    float* state;          // [batch][gates * hidden]: state products of one step
    float *h, *c, *reset;  // [batch][hidden]
    float* kept;           // h and c of before a step, where sequences differ in length
  };

  /// Of a direction; what threads write at once lies in cache lines of their own.
  int64_t SumFloats() const;
  int64_t StateFloats() const;
  int64_t HiddenFloats() const;
  Lane LaneOf(const CpuLaunch& args, int64_t direction) const;
  void LoadState(const CpuLaunch& args, size_t operand, int64_t direction, float* to) const;
  bool IsConstant(size_t operand) const;
  /// The sequence or an initial state, as it is given or, where constant, as it is packed.
  const float* Floats(const CpuLaunch& args, size_t operand) const;
  /// How many steps each sequence of the batch has; fails where one has more than there are.
  Result<std::vector<int64_t>> Lengths(const CpuLaunch& args) const;
  void RunDirection(const CpuLaunch& args, int64_t direction,
                    const std::vector<int64_t>& lengths) const;
  /// One step of one direction; `sums` holds its input products.
  void Step(const CpuLaunch& args, const Lane& lane, int64_t direction, float* sums) const;
  /// The same of sequences that end before step `t`: their states stay.
  void StepSome(const CpuLaunch& args, const Lane& lane, int64_t direction, int64_t t,
                const std::vector<int64_t>& lengths) const;

  std::shared_ptr<const ir::Graph> group_;
  ops::RecurrentAttributes cell_;
  const RecurrentCells& cells_;
  int output_[kOutputs] = {-1, -1, -1};
  RunScratch<float> sums_, state_, h_, c_, reset_, kept_;
};

/// Row-major floats, and lengths as they are.
Result<std::vector<StateAssignment>> LayerStates(const ir::Graph& group,
                                                 const ops::RecurrentAttributes&, const Device&);

}  // namespace fettle::kernels
