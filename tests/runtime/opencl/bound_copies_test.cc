// Bound outputs that the program does not write for them alone: constants, inputs, and values that
// another output holds, too. They are filled, and keep nothing else from its place.
#include <gmock/gmock.h>

#include <cstring>

#include "runtime/tensor_buffer.h"
#include "tests/opencl_device.h"
#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

constexpr const char* kGraph = R"(input %x: f32[2x3]
input %k: i64[4]
const %c: f32[5] = 1 2 3 4 5
%y = Neg(%x)
%again = Identity(%y)
%held = Identity(%c)
%e = Exp(%y)
output %y
output %again
output %k
output %held
output %e
)";

/// Where tensors lie: by name, 'd' on the device, 'h' on the host; outputs that are not there are
/// the session's. "passed" is the output %k.
using Places = std::map<std::string, char>;

class BoundCopies : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      session_ = SessionOf(kGraph, {.threads = 1});
      return;
    }
    if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
    device_ = *TestOpenClDevice();
    session_ = SessionOf(kGraph, {.threads = 1, .accelerators = {device_}});
  }

  std::shared_ptr<TensorBuffer> Place(const Tensor& like, char where) {
    if (where == 'h' || device_ == nullptr)
      return std::make_shared<TensorBuffer>(Tensor::Create(like.dtype(), like.shape()).value(),
                                            /*recyclable=*/true);
    const State state{.device = device_->kind(),
                      .memory = MemoryKind::kBuffer,
                      .layout = {},
                      .storage = like.dtype()};
    return TensorBuffer::Create(device_, like.dtype(), like.shape(), state).value();
  }

  void Bind(const Places& places) {
    inputs_.clear();
    outputs_.clear();
    const TensorMap likes{{"x", Tensor::Create(DType::kF32, {2, 3}).value()},
                          {"k", Tensor::Create(DType::kI64, {4}).value()},
                          {"y", Tensor::Create(DType::kF32, {2, 3}).value()},
                          {"again", Tensor::Create(DType::kF32, {2, 3}).value()},
                          {"passed", Tensor::Create(DType::kI64, {4}).value()},
                          {"held", Tensor::Create(DType::kF32, {5}).value()},
                          {"e", Tensor::Create(DType::kF32, {2, 3}).value()}};
    for (const auto& [name, where] : places)
      (name == "x" || name == "k" ? inputs_ : outputs_)
          .emplace(name == "passed" ? "k" : name, Place(likes.at(name), where));
  }

  /// A run of inputs that begin with `first`, in place unless `through` the host.
  void RunsRight(float first, bool through = false) {
    const Tensor x = Tensor::FromVector<float>({2, 3}, {first, 1, 2, 3, 4, 5}).value();
    const auto key = static_cast<int64_t>(first);
    const Tensor k = Tensor::FromVector<int64_t>({4}, {key, -7, 8, 9}).value();
    for (auto& output : outputs_) {
      const Tensor& host = output.second->host();
      const Tensor zeros = Tensor::Create(host.dtype(), host.shape()).value();
      ASSERT_TRUE(output.second->WriteFromHost(zeros).ok());
    }
    ASSERT_TRUE(inputs_.at("x")->WriteFromHost(x).ok());
    ASSERT_TRUE(inputs_.at("k")->WriteFromHost(k).ok());
    const int64_t before = Crossings();
    TensorMap results;
    const Status status = session_->RunOn(inputs_, outputs_, &results);
    ASSERT_TRUE(status.ok()) << status.message();
    if (device_ != nullptr) {
      EXPECT_EQ(Crossings() != before, through);
    }
    for (const auto& [name, buffer] : outputs_) {
      ASSERT_FALSE(results.contains(name)) << name;
      results.emplace(name, buffer->ReadToHost().value());
    }
    ASSERT_EQ(results.size(), 5U);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(results.at("y").as<float>()[i], -x.as<float>()[i]) << i;
      EXPECT_EQ(results.at("again").as<float>()[i], -x.as<float>()[i]) << i;
      EXPECT_NEAR(results.at("e").as<float>()[i], std::exp(-x.as<float>()[i]), 1e-5) << i;
    }
    EXPECT_EQ(std::memcmp(results.at("k").data(), k.data(), k.bytes().size()), 0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(results.at("held").as<float>()[i], i + 1);
  }

  /// Maps of the caller's tensors so far.
  int64_t Crossings() const {
    int64_t maps = 0;
    for (const BufferMap* map : {&inputs_, &outputs_})
      for (const auto& entry : *map) maps += entry.second->transfers().maps;
    return maps;
  }

  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<Session> session_;
  BufferMap inputs_, outputs_;
};

TEST_P(BoundCopies, AreFilledInPlace) {
  for (const auto& [in, out] : {std::pair('d', 'd'), {'h', 'h'}, {'h', 'd'}, {'d', 'h'}}) {
    Bind({{"x", in},
          {"k", in},
          {"y", out},
          {"again", out},
          {"passed", out},
          {"held", out},
          {"e", out}});
    for (const float first : {1.0F, 2.0F, 3.0F}) RunsRight(first);
  }
}

TEST_P(BoundCopies, LieWhereTheCallerWantsEach) {
  Bind({{"x", 'd'},
        {"k", 'd'},
        {"y", 'h'},
        {"again", 'd'},
        {"passed", 'h'},
        {"held", 'h'},
        {"e", 'd'}});
  RunsRight(1);
  Bind({{"x", 'h'},
        {"k", 'd'},
        {"y", 'd'},
        {"again", 'h'},
        {"passed", 'd'},
        {"held", 'd'},
        {"e", 'h'}});
  RunsRight(2);
}

TEST_P(BoundCopies, NeedNotAllBeBound) {
  Bind({{"x", 'd'}, {"k", 'h'}, {"again", 'd'}, {"held", 'd'}});
  for (const float first : {1.0F, 2.0F}) RunsRight(first);
  Bind({{"x", 'h'}, {"k", 'h'}, {"y", 'd'}, {"passed", 'd'}});
  for (const float first : {3.0F, 4.0F}) RunsRight(first);
}

/// Of an input on the device there are no bytes that the session could give.
TEST_P(BoundCopies, AnInputOnTheDeviceIsFetchedWhereItIsAnOutputOfTheSession) {
  Bind({{"x", 'd'}, {"k", 'd'}, {"y", 'd'}});
  RunsRight(1, /*through=*/true);
}

TEST_P(BoundCopies, AreAsTheInputWasWhereAnOutputIsItsMemory) {
  if (device_ == nullptr) GTEST_SKIP() << "tensors of the host that share memory are one";
  Bind({{"x", 'd'}, {"k", 'd'}, {"y", 'd'}, {"held", 'd'}});
  outputs_["k"] = TensorBuffer::OverMemoryOf(*inputs_.at("k")).value();
  RunsRight(5, /*through=*/true);
}

TEST_P(BoundCopies, SayWhichDoesNotFit) {
  Bind({{"x", 'd'}, {"k", 'd'}, {"y", 'd'}});
  outputs_["held"] = Place(Tensor::Create(DType::kF32, {6}).value(), 'd');
  TensorMap results;
  EXPECT_THAT(session_->RunOn(inputs_, outputs_, &results).message(),
              testing::HasSubstr("output 'held': the run gives f32[5], the tensor set for it is"));
}

TEST_P(BoundCopies, RunsWithoutBoundTensorsFollow) {
  Bind({{"x", 'd'}, {"k", 'd'}, {"y", 'd'}, {"held", 'd'}, {"passed", 'd'}});
  RunsRight(1);
  TensorMap results;
  const TensorMap inputs{{"x", Tensor::FromVector<float>({2, 3}, {9, 1, 2, 3, 4, 5}).value()},
                         {"k", Tensor::FromVector<int64_t>({4}, {1, 2, 3, 4}).value()}};
  ASSERT_TRUE(session_->Run(inputs, &results).ok());
  EXPECT_EQ(results.at("y").as<float>()[0], -9);
  EXPECT_EQ(results.at("k").as<int64_t>()[3], 4);
  EXPECT_EQ(results.at("held").as<float>()[4], 5);
  RunsRight(2);
}

INSTANTIATE_TEST_SUITE_P(Runtime, BoundCopies, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "OpenCl" : "Cpu");
});

}  // namespace
}  // namespace fettle::runtime
