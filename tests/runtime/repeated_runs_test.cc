// Runs on the tensors of the run before: nothing is allocated, and other tensors under the same
// names are seen.
#include <cstdlib>
#include <new>

#include "runtime/tensor_buffer.h"
#include "tests/session_of.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FETTLE_OWN_ALLOCATOR 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FETTLE_OWN_ALLOCATOR 1
#endif

namespace {
thread_local int64_t counted_allocations = 0;
}  // namespace

#ifndef FETTLE_OWN_ALLOCATOR
void* operator new(size_t size) {
  ++counted_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace fettle::runtime {
namespace {

constexpr int kPairs = 40;  // of an input and an output, as caches have them

std::shared_ptr<TensorBuffer> NewBuffer(float value) {
  Tensor tensor = Tensor::Create(DType::kF32, Shape{4}).value();
  for (float& element : tensor.as<float>()) element = value;
  return std::make_shared<TensorBuffer>(std::move(tensor), /*recyclable=*/true);
}

float First(const TensorBuffer& buffer) { return Tensor(buffer.host()).as<float>()[0]; }

class RepeatedRuns : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < kPairs; ++i) {
      text += fmt::format("input %past_{0}: f32[4]\n%y{0} = Neg(%past_{0})\n", i);
      inputs_.emplace(fmt::format("past_{}", i), NewBuffer(static_cast<float>(i)));
      outputs_.emplace(fmt::format("y{}", i), NewBuffer(0));
    }
    for (int i = 0; i < kPairs; ++i) text += fmt::format("output %y{}\n", i);
    session_ = SessionOf(text, {.threads = 1});
  }

  void Run() {
    const Status status = session_->RunOn(inputs_, outputs_, &results_);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(results_.empty());
  }

  BufferMap inputs_, outputs_;
  std::map<std::string, Tensor> results_;
  std::unique_ptr<Session> session_;
};

TEST_F(RepeatedRuns, AllocateNothing) {
#ifdef FETTLE_OWN_ALLOCATOR
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  Run();
  Run();
  const int64_t before = counted_allocations;
  for (int i = 0; i < 3; ++i) {
    const Status status = session_->RunOn(inputs_, outputs_, &results_);
    ASSERT_TRUE(status.ok());
  }
  EXPECT_EQ(counted_allocations, before);
  EXPECT_EQ(First(*outputs_["y7"]), -7.0F);
}

TEST_F(RepeatedRuns, SeeOtherTensorsUnderTheSameNames) {
  Run();
  inputs_["past_3"] = NewBuffer(50);
  outputs_["y4"] = NewBuffer(0);
  Run();
  EXPECT_EQ(First(*outputs_["y3"]), -50.0F);
  EXPECT_EQ(First(*outputs_["y4"]), -4.0F);
  std::swap(inputs_["past_0"], inputs_["past_1"]);
  Run();
  EXPECT_EQ(First(*outputs_["y0"]), -1.0F);
}

TEST_F(RepeatedRuns, RefuseOtherShapesAndNamesAsTheFirstDoes) {
  Run();
  const std::shared_ptr<TensorBuffer> four = inputs_["past_2"];
  inputs_["past_2"] = std::make_shared<TensorBuffer>(Tensor::Create(DType::kF32, Shape{5}).value(),
                                                     /*recyclable=*/true);
  EXPECT_EQ(session_->RunOn(inputs_, outputs_, &results_).message(),
            "input 'past_2': expected 4, got 5");
  inputs_.erase("past_2");
  inputs_.emplace("past_x", four);
  EXPECT_EQ(session_->RunOn(inputs_, outputs_, &results_).code(), StatusCode::kInvalidArgument);
  inputs_.erase("past_x");
  inputs_.emplace("past_2", four);
  Run();
  EXPECT_EQ(First(*outputs_["y2"]), -2.0F);
}

/// What is not bound is the caller's to keep.
TEST_F(RepeatedRuns, GiveTheOutputsThatAreNotBound) {
  outputs_.erase("y5");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session_->RunOn(inputs_, outputs_, &results_).ok());
    ASSERT_EQ(results_.size(), 1U);
    EXPECT_EQ(results_.at("y5").as<float>()[0], -5.0F);
  }
}

}  // namespace
}  // namespace fettle::runtime
