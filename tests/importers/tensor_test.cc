// TensorProto in and out, and external data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "importers/model_writer.h"
#include "importers/onnx/external.h"
#include "importers/onnx/tensor_file.h"
#include "tests/test_folder.h"

namespace fettle::onnx_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Tensor> Read(const Message& message) {
  return onnx::ReadTensorProto(std::as_bytes(std::span(message.bytes())));
}

std::vector<double> Values(const Result<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  std::vector<double> values;
  if (!tensor.ok()) return values;
  for (int64_t i = 0; i < tensor->elements(); ++i) values.push_back(tensor->view().GetDouble(i));
  return values;
}

TEST(TensorProto, TypedFieldsOfEachType) {
  EXPECT_THAT(Values(Read(FloatTensor("", {2}, {1.5f, -2}))), ElementsAre(1.5, -2));
  EXPECT_THAT(Values(Read(Int64Tensor("", {2}, {-1, int64_t{1} << 50}))),
              ElementsAre(-1, static_cast<double>(int64_t{1} << 50)));
  const auto int32s = [](int type, const std::vector<int64_t>& values) {
    return Read(TensorHeader("", type, {std::ssize(values)}).Ints(5, values));
  };
  EXPECT_THAT(Values(int32s(kInt32, {-5, 7})), ElementsAre(-5, 7));
  EXPECT_THAT(Values(int32s(kInt8, {-5, 7})), ElementsAre(-5, 7));
  EXPECT_THAT(Values(int32s(kUint8, {255, 0})), ElementsAre(255, 0));
  EXPECT_THAT(Values(int32s(kBool, {1, 0, 2})), ElementsAre(1, 0, 1));
  EXPECT_THAT(Values(int32s(kFloat16, {0x3c00, 0xc000})), ElementsAre(1, -2));
  EXPECT_THAT(Values(int32s(kBfloat16, {0x3f80, 0xc000})), ElementsAre(1, -2));
  // Not packed, as old writers do it.
  EXPECT_THAT(Values(Read(TensorHeader("", kInt64, {2}).Int(7, 3).Int(7, 4))), ElementsAre(3, 4));
  EXPECT_THAT(Values(Read(TensorHeader("", kFloat, {}).Float(4, 9))), ElementsAre(9));
  EXPECT_THAT(Values(Read(TensorHeader("", kFloat, {0, 5}))), ElementsAre());
}

TEST(TensorProto, IntegersBeyondTheirTypeAreRefused) {
  for (const int type : {kUint8, kInt8}) {
    for (const int64_t value : {256, 300, -129}) {
      const auto tensor = Read(TensorHeader("", type, {2}).Ints(5, {1, value}));
      ASSERT_FALSE(tensor.ok());
      EXPECT_THAT(tensor.status().message(),
                  HasSubstr(fmt::format("{} does not fit into 8 bits", value)));
    }
  }
  EXPECT_FALSE(Read(TensorHeader("", kUint8, {}).Int(5, 1000)).ok());
  EXPECT_FALSE(Read(TensorHeader("", kFloat16, {1}).Ints(5, {0x10000})).ok());
}

TEST(TensorProto, FourBitValuesComeOneAByte) {
  EXPECT_THAT(Values(Read(RawTensor("", kUint4, {3}, "\x21\x0f"))), ElementsAre(1, 2, 15));
  EXPECT_THAT(Values(Read(RawTensor("", kInt4, {3}, "\xf1\x08"))), ElementsAre(1, -1, -8));
  EXPECT_THAT(Values(Read(TensorHeader("", kInt4, {3}).Ints(5, {0xf1, 0x08}))),
              ElementsAre(1, -1, -8));
}

TEST(TensorProto, BooleansAreZeroOrOne) {
  const auto tensor = Read(RawTensor("", kBool, {3}, std::string("\x00\x01\xff", 3)));
  EXPECT_THAT(Values(tensor), ElementsAre(0, 1, 1));
}

TEST(TensorProto, WhatIsWrittenIsReadBack) {
  const auto check = [](const Tensor& tensor) {
    const std::string bytes = onnx::WriteTensorProto(tensor, "name");
    const auto span = std::as_bytes(std::span(bytes));
    EXPECT_EQ(onnx::ReadTensorProtoName(span).value(), "name");
    const auto again = onnx::ReadTensorProto(span);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->dtype(), tensor.dtype());
    EXPECT_EQ(again->shape(), tensor.shape());
    EXPECT_THAT(again->bytes(), testing::ElementsAreArray(tensor.bytes()));
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8,
                      DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64,
                      DType::kBool, DType::kI4, DType::kU4, DType::kF8E4M3FN, DType::kF8E5M2}) {
    Tensor tensor = Tensor::Create(dtype, Shape{3, 1}).value();
    for (int64_t i = 0; i < 3; ++i) tensor.view().SetDouble(i, static_cast<double>(i % 2));
    check(tensor);
    check(Tensor::Create(dtype, Shape{0}).value());
    check(Tensor::Create(dtype, Shape{}).value());
  }
}

TEST(TensorProto, RefusedWithAReason) {
  const auto reason = [](const Result<Tensor>& tensor) { return tensor.status().message(); };
  EXPECT_EQ(reason(Read(TensorHeader("", kString, {1}))), "element type string is not supported");
  EXPECT_EQ(reason(Read(ExternalTensor("", kFloat, {1}, {{"location", "w.bin"}}))),
            "external data is only read from a model file on disk");
  EXPECT_EQ(reason(Read(TensorHeader("", kFloat, {1}).Text(3, ""))),
            "tensors in segments are not supported");
  EXPECT_EQ(onnx::ReadTensorFile("/nonexistent.pb").status().code(), StatusCode::kNotFound);
}

TEST(TensorProto, BFloat16InADisguiseIsRecognised) {
  const auto u16 = Tensor::FromVector(Shape{1}, std::vector<uint16_t>{0x3f80});
  EXPECT_EQ(onnx::AsDeclared(*u16, DType::kBF16).view().GetDouble(0), 1);
  EXPECT_EQ(onnx::AsDeclared(*u16, DType::kU16).dtype(), DType::kU16);
}

/// A folder with weights.bin (16 bytes: four floats), and beside it a file that no model may read.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "model");
    Write("model/weights.bin", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16));
    Write("secret.bin", std::string(16, 'x'));
    fs::create_symlink("../secret.bin", root_ / "model/link.bin");
    fs::create_symlink("weights.bin", root_ / "model/inner.bin");
  }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }

  Result<ir::Graph> ImportWith(const std::vector<std::pair<std::string, std::string>>& entries) {
    return Import(Model(Graph({.nodes = {Node("Add", {"x", "w"}, {"y"})},
                               .inputs = {Value("x", kFloat, {2})},
                               .outputs = {Value("y", kFloat, {2})},
                               .initializers = {ExternalTensor("w", kFloat, {2}, entries)}})),
                  nullptr, (root_ / "model").string());
  }
  std::string FailureWith(const std::vector<std::pair<std::string, std::string>>& entries) {
    return Failure(ImportWith(entries));
  }

  TestFolder folder_;
  fs::path root_ = folder_.path();
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  for (const char* location : {"weights.bin", "./weights.bin", "inner.bin"}) {
    const auto graph = ImportWith({{"location", location}, {"offset", "8"}, {"length", "8"}});
    ASSERT_TRUE(graph.ok()) << Failure(graph);
    EXPECT_EQ(graph->value(*graph->FindValue("w")).constant->GetDouble(1), 4);
  }
  EXPECT_EQ(FailureWith({{"location", "weights.bin"}}), "");  // offset 0, as long as needed
}

TEST_F(ExternalData, MustLieInsideTheFolder) {
  const std::string start = "m.onnx: initialiser 'w': external data ";
  EXPECT_EQ(FailureWith({{"location", "../secret.bin"}}),
            start + "'../secret.bin': is outside the model's folder");
  EXPECT_EQ(FailureWith({{"location", "a/../../secret.bin"}}),
            start + "'a/../../secret.bin': is outside the model's folder");
  EXPECT_EQ(FailureWith({{"location", "/etc/passwd"}}),
            start + "'/etc/passwd': is outside the model's folder");
  EXPECT_EQ(FailureWith({{"location", std::string("weights.bin\0x", 13)}}),
            start + "'weights.bin?x': is outside the model's folder");
  EXPECT_EQ(FailureWith({{"location", "link.bin"}}),
            start + "'link.bin': is a link that leaves the model's folder");
  EXPECT_EQ(FailureWith({}), "m.onnx: initialiser 'w': external data: no location");
  EXPECT_EQ(FailureWith({{"location", "none.bin"}}),
            start + "'none.bin': No such file or directory");
  EXPECT_THAT(FailureWith({{"location", "."}}), HasSubstr("not a regular file"));
}

TEST_F(ExternalData, RangesAreChecked) {
  const std::string start = "m.onnx: initialiser 'w': external data: ";
  const auto range = [&](const std::string& offset, const std::string& length) {
    return FailureWith({{"location", "weights.bin"}, {"offset", offset}, {"length", length}});
  };
  EXPECT_EQ(range("12", "8"), start + "8 bytes at 12 of a file of 16 bytes");
  EXPECT_EQ(range("18446744073709551615", "8"),
            start + "8 bytes at 18446744073709551615 of a file of 16 bytes");
  EXPECT_EQ(range("-1", "8"), start + "offset '-1' is not a number");
  EXPECT_EQ(range("0", "99999999999999999999"),
            start + "length '99999999999999999999' is not a number");
  EXPECT_EQ(range("0", "4"), start + "length 4, but the tensor needs 8 bytes");
}

TEST_F(ExternalData, AModelFileFindsItsFolder) {
  Message model = Model(
      Graph({.nodes = {Node("Add", {"x", "w"}, {"y"})},
             .inputs = {Value("x", kFloat, {2})},
             .outputs = {Value("y", kFloat, {2})},
             .initializers = {ExternalTensor("w", kFloat, {2}, {{"location", "weights.bin"}})}}));
  Write("model/model.onnx", model.bytes());
  const auto graph = onnx::ImportFile((root_ / "model/model.onnx").string());
  EXPECT_TRUE(graph.ok()) << Failure(graph);
  EXPECT_EQ(onnx::ImportFile((root_ / "none.onnx").string()).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace fettle::onnx_test
