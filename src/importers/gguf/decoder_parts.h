// Parts of which the graphs of decoders are built: nodes, tensors of the file, products.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/gguf/language_graph.h"

namespace fettle::gguf {

/// The graph, and the file whose tensors become its constants. Functions that read tensors fail
/// with kInvalidModel where these are missing or have other sizes.
class DecoderParts {
 protected:
  DecoderParts(std::shared_ptr<const File> file, const Decoder& decoder, const DecoderForm& form)
      : file_(std::move(file)), d_(decoder), form_(form) {}

  std::vector<ir::ValueId> EmitMany(const std::string& op, std::vector<ir::ValueId> inputs,
                                    ir::Attributes attributes, int outputs);
  ir::ValueId Emit(const std::string& op, std::vector<ir::ValueId> inputs,
                   ir::Attributes attributes = {}) {
    return EmitMany(op, std::move(inputs), std::move(attributes), 1)[0];
  }
  ir::ValueId Ints(const std::string& name, const std::vector<int64_t>& values);
  ir::ValueId Number(double value);
  /// x times a number; x where that is 1.
  ir::ValueId Scaled(ir::ValueId x, double factor);

  Result<const TensorInfo*> Need(const std::string& name, int64_t columns, int64_t rows) const;
  Result<ir::ValueId> Vector(const std::string& name, int64_t size);
  /// By `name`.weight, and `name`.bias where there is one.
  Result<ir::ValueId> Norm(const std::string& name, ir::ValueId x, int64_t size);
  /// The same where the file has it; otherwise x.
  Result<ir::ValueId> SubNorm(const std::string& name, ir::ValueId x, int64_t size) {
    if (file_->FindTensor(name + ".weight") == nullptr) return x;
    return Norm(name, x, size);
  }
  /// By no weights.
  ir::ValueId PlainNorm(ir::ValueId x, int64_t size);

  /// Rows of a matrix, and elements of its bias, from `first` on; all of them are `rows`.
  struct Part {
    std::string name;
    int64_t first = 0, rows = 0;
  };
  /// The matrix `name`, or where the file lacks it that part of one that holds several.
  Part Find(const std::string& name, const Part& several, int64_t rows) const;
  /// x times the transposed matrix `name`.weight [n, k], plus `name`.bias where there is one.
  Result<ir::ValueId> PartProduct(const Part& part, ir::ValueId x, int64_t k, int64_t n);
  Result<ir::ValueId> Product(const std::string& name, ir::ValueId x, int64_t k, int64_t n) {
    return PartProduct({name, 0, n}, x, k, n);
  }

  /// Rows times those of `count` matrices `name`.weight [count, n, k] that `chosen` [.., used]
  /// names; with `counts` [.., used] their sum, each times its count.
  Result<ir::ValueId> MatrixEach(const std::string& name, int64_t count, ir::ValueId chosen,
                                 ir::ValueId x, int64_t k, int64_t n,
                                 ir::ValueId counts = ir::kAbsent);

  /// The feed-forward part of a layer whose tensors begin with `at`: one network, or experts.
  Result<ir::ValueId> FeedForward(const std::string& at, ir::ValueId x) {
    return Network(at, "", layer_->hidden, x);
  }
  Result<ir::ValueId> Mixture(const std::string& at, ir::ValueId x);

  std::shared_ptr<const File> file_;
  const Decoder& d_;
  DecoderForm form_;
  ir::Graph graph_;
  const LayerForm* layer_ = nullptr;  // the one that is built

 private:
  /// The constants codes, scales and minima, of one matrix, or of `experts` of them.
  std::vector<ir::ValueId> AddBlocks(const TensorInfo& tensor, int64_t experts = 0);
  Result<ir::ValueId> Bias(const Part& part, int64_t n);
  /// By the matrices `at`ffn_gate`end`, ffn_up and ffn_down.
  Result<ir::ValueId> Network(const std::string& at, const std::string& end, int64_t hidden,
                              ir::ValueId x);
  ir::ValueId Activated(ir::ValueId x);
  ir::ValueId Gated(ir::ValueId gate, ir::ValueId value);

  /// The experts that each row chooses, and their weights: [.., used].
  struct Choices {
    ir::ValueId chosen = ir::kAbsent, counts = ir::kAbsent;
  };
  Result<ir::ValueId> Scores(const std::string& name, ir::ValueId x, int64_t n);
  Result<Choices> Route(const std::string& at, ir::ValueId x);
  /// Scores; those of unused groups are far below all others.
  ir::ValueId OfUsedGroups(const std::string& at, ir::ValueId scores);
  /// Gate and up of the chosen experts, which one tensor may hold.
  Result<ir::ValueId> ExpertsGated(const std::string& at, const Choices& choices, ir::ValueId x);
  /// Rows times the chosen ones of `name`.weight [experts, n, k], plus rows of `name`.bias where
  /// there is one; where `sums`, added up as they count.
  Result<ir::ValueId> ExpertProduct(const std::string& name, const Choices& choices, ir::ValueId x,
                                    int64_t k, int64_t n, bool sums);
  Result<ir::ValueId> ExpertBias(const std::string& name, const Choices& choices, int64_t n,
                                 bool sums);
};

}  // namespace fettle::gguf
