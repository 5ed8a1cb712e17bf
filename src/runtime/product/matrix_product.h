// A matrix product that is called again and again: planned, tuned and prepared once.
#pragma once

#include <memory>
#include <string>

#include "runtime/product/product_graph.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// Where the matrices of a product lie, in elements: from one row, as stored, to the next (0: rows
/// follow each other), and from one matrix of a batch to the next (of A and B 0: all products read
/// one).
struct ProductStrides {
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t a = 0, b = 0, c = 0;
};

/// Belongs to one thread at a time.
class MatrixProduct {
 public:
  /// `constant_b`, where not null, is B for all runs: it is read here and packed once. Fails with
  /// kInvalidArgument on negative sizes, leading dimensions shorter than a row and matrices of C
  /// that overlap, as CheckProduct does, and as Session::Create does.
  static Result<std::unique_ptr<MatrixProduct>> Create(const ProductProblem& problem,
                                                       const ProductStrides& strides,
                                                       const void* constant_b,
                                                       SessionOptions options);
  ~MatrixProduct();

  /// The product as a network; null where nothing has to be planned.
  const std::shared_ptr<const Model>& model() const { return model_; }
  const SessionOptions& options() const { return options_; }
  /// Goes on with these plans.
  Status UsePlans(std::shared_ptr<planner::PlanSource> plans);

  /// `b` is not read where B is constant. With beta 0, C is not read; with alpha 0 or k 0, neither
  /// A nor B. No operand overlaps C. Fails with kInvalidArgument where one that is read is null.
  Status Run(const void* a, const void* b, void* c);

  /// What the last run did, in order; empty where nothing had to be computed.
  std::vector<exec::StepProfile> steps() const;
  /// Their kernels, joined by " + ".
  std::string kernels() const;
  const ProductProblem& problem() const { return problem_; }

 private:
  class Operand;
  MatrixProduct(const ProductProblem& problem, const ProductStrides& strides,
                SessionOptions options);
  Status Prepare(const void* constant_b);
  Status NewSession();
  bool IsEmpty() const { return problem_.m == 0 || problem_.n == 0 || problem_.batch == 0; }
  bool IsScalingAlone() const { return problem_.alpha == 0 || problem_.k == 0; }

  ProductProblem problem_;
  SessionOptions options_;
  std::unique_ptr<Operand> a_, b_, c_;
  bool has_constant_b_ = false;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
};

}  // namespace fettle::runtime
