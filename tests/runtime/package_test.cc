// What goes into a package comes out of it, and what comes out runs as before.
#include "runtime/package/package.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "kernels/build_id.h"
#include "planner/planner.h"
#include "tests/runtime/package_files.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;

const std::map<std::string, Shape> kPictureShapes = {{"x", Shape{1, 3, 20, 16}}};

class PackageTest : public PackageFiles {
 protected:
  ModelPtr SaveAndLoad(const ModelPtr& model, const PackageExtras& extras = {}) {
    const Status saved = SavePackage(Path(), *model, {}, Info(), extras);
    EXPECT_TRUE(saved.ok()) << saved.message();
    auto loaded = Model::Load(Path());
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return std::move(loaded).value();
  }

  /// Whether all living packed weights of `model` are bytes of its package.
  static bool PacksNothing(const Model& model) {
    const auto living = model.packed().Living();
    return !living.empty() && std::all_of(living.begin(), living.end(), [](const auto& entry) {
      return entry.blob->data.use_count() > 2;  // shared with the mapping
    });
  }
};

TEST_F(PackageTest, KeepsTheGraph) {
  const ModelPtr model = FromText(kConvText);
  const ModelPtr loaded = SaveAndLoad(model);
  EXPECT_EQ(ir::Print(loaded->graph()), ir::Print(model->graph()));
  EXPECT_EQ(loaded->parameters(), model->parameters());
  EXPECT_EQ(loaded->weight_bytes(), model->weight_bytes());
  ASSERT_NE(loaded->package(), nullptr);
  EXPECT_EQ(model->package(), nullptr);
}

TEST_F(PackageTest, KeepsPrograms) {
  const ModelPtr model = FromText(kConvText);
  const std::vector<std::byte> first(1000, std::byte{7}), second(3, std::byte{9});
  const ProgramBinary programs[] = {{"one", first}, {"two", second}};
  ASSERT_TRUE(SavePackage(Path(), *model, {}, Info(), {.programs = programs}).ok());
  const ModelPtr loaded = Model::Load(Path()).value();
  const std::vector<ProgramBinary> kept = loaded->package()->programs();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].key, "one");
  EXPECT_EQ(kept[0].bytes, first);
  EXPECT_EQ(kept[1].key, "two");
  EXPECT_EQ(kept[1].bytes, second);
  EXPECT_TRUE(SaveAndLoad(model)->package()->programs().empty());
}

TEST_F(PackageTest, KeepsAttributesOfAllKinds) {
  const ModelPtr model = FromText(R"(graph 'kinds of graph'
input %x: f32[?x4]
input %p: bool[]
%y = Relu(%x) {a=-1, b=0.5, c="te\"xt\x00", d=[1,2], e=floats[0.5,0.1f], f=strings["u",""], g=ints[], h=const f32[2] = 1.0 nan}
%z = If(%p, %y) {then_branch=
  graph 'then'
  input %a: f32[?x4]
  const %k: f32[4] = splat 3.0
  %b = Add(%a, %k)
  output %b
  end, else_branch=
  graph 'else'
  input %a: f32[?x4]
  %b = Neg(%a)
  output %b
  end}
output %z
)");
  const ModelPtr loaded = SaveAndLoad(model);
  EXPECT_EQ(ir::Print(loaded->graph()), ir::Print(model->graph()));
  const auto before = Run(model, {{"x", Shape{3, 4}}}), after = Run(loaded, {{"x", Shape{3, 4}}});
  ASSERT_TRUE(before.ok()) << before.status().message();
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(*before, *after);
}

TEST_F(PackageTest, KeepsContentsOfConstants) {
  const ModelPtr model = FromText(kConvText);
  const ModelPtr loaded = SaveAndLoad(model);
  for (size_t i = 0; i < model->graph().values().size(); ++i) {
    const ir::Value &before = model->graph().values()[i], &after = loaded->graph().values()[i];
    ASSERT_EQ(before.is_constant(), after.is_constant());
    if (!before.is_constant()) continue;
    EXPECT_EQ(before.constant->is_splat(), after.constant->is_splat());
    if (before.constant->source() == nullptr) {
      EXPECT_EQ(before.constant->Hash(), after.constant->Hash());
    }
    const Tensor a = before.constant->ToTensor().value(), b = after.constant->ToTensor().value();
    EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
  }
}

TEST_F(PackageTest, StoresComputedConstants) {
  // The batch normalisation's scale goes into the weights, whose elements are computed when read.
  const ModelPtr model = FromText(R"(
input %x: f32[1x16x8x8]
const %w: f32[32x16x3x3]
const %s: f32[32] = noise(1, 2)
const %b: f32[32]
const %m: f32[32]
const %v: f32[32] = noise(1, 2)
%c = Conv(%x, %w)
%y = BatchNormalization(%c, %s, %b, %m, %v)
output %y
)");
  const auto& values = model->graph().values();
  ASSERT_TRUE(std::any_of(values.begin(), values.end(), [](const ir::Value& value) {
    return value.is_constant() && value.constant->source() != nullptr;
  }));
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(session.ok());
  const auto before = RunOn(**session, {});
  const ModelPtr loaded = SaveAndLoad(model, {.packed_weights = true});
  auto again = Session::Create(loaded, {.threads = 2});
  ASSERT_TRUE(again.ok());
  const auto after = RunOn(**again, {});
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
  EXPECT_TRUE(PacksNothing(*loaded));
}

TEST_F(PackageTest, StoresFourBitsInFour) {
  const ModelPtr model = FromText(R"(
input %x: f32[1x256]
const %w: u4[256x128] = noise(0, 15)
const %s: f32[8x128] = noise(0.01, 0.1)
%d = DequantizeLinear(%w, %s) {axis=0, block_size=32}
%y = MatMul(%x, %d)
output %y
)");
  auto session = Session::Create(model, {.threads = 1});
  ASSERT_TRUE(session.ok());
  const auto before = RunOn(**session, {});
  for (const bool packed_weights : {false, true}) {
    const ModelPtr loaded = SaveAndLoad(model, {.packed_weights = packed_weights});
    const auto& values = loaded->graph().values();
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](const ir::Value& value) {
      return value.is_constant() && value.dtype == DType::kU4 &&
             value.constant->raw_bytes().size() == 256 * 128 / 2;
    }));
    auto again = Session::Create(loaded, {.threads = 1});
    ASSERT_TRUE(again.ok());
    const auto after = RunOn(**again, {});
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_EQ(*before, *after);
    EXPECT_EQ(PacksNothing(*loaded), packed_weights);
  }
}

/// A convolution of real numbers with weights of two values for each output.
constexpr std::string_view kTwoValuedText = R"(
input %x: f32[1x24x9x7]
const %r: f32[24x24x3x3]
const %w: f32[40x24x3x3]
const %zero: f32[1] = splat 0
const %one: f32[1] = splat 0.7
const %minus: f32[1] = splat -0.7
%g = GreaterOrEqual(%w, %zero)
%s = Where(%g, %one, %minus)
%a = Conv(%x, %r) {pads=[1,1,1,1]}
%y = Conv(%a, %s)
output %y
)";

TEST_F(PackageTest, StoresWeightsOfTwoValuesAsBits) {
  const ModelPtr model = FromText(kTwoValuedText);
  const auto before = Run(model);
  const ModelPtr loaded = SaveAndLoad(model);
  const int64_t bits = 40 * 24 * 9 / 8 + 2 * 4;
  const auto& values = loaded->graph().values();
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [&](const ir::Value& value) {
    return value.is_constant() && value.constant->elements() == 40 * 24 * 9 &&
           static_cast<int64_t>(value.constant->raw_bytes().size()) == bits;
  }));
  EXPECT_LT(ReadBytes(Path()).size(), 24 * 24 * 9 * 4 + 6000U);
  const auto after = Run(loaded);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
  // Packed weights are found by the hash that the stored form has.
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(RunOn(**session, {}).ok());
  const ModelPtr packed = SaveAndLoad(model, {.packed_weights = true});
  auto again = Session::Create(packed, {.threads = 2});
  ASSERT_TRUE(RunOn(**again, {}).ok());
  EXPECT_TRUE(PacksNothing(*packed));
}

TEST_F(PackageTest, PacksLargeMappedWeightsPieceByPiece) {
  const ModelPtr model =
      FromText("input %x: f32[1x1024]\nconst %w: f32[1024x1300]\n%y = MatMul(%x, %w)\noutput %y\n");
  auto session = Session::Create(model, {.threads = 1});
  ASSERT_TRUE(session.ok());
  const auto before = RunOn(**session, {});
  auto again = Session::Create(SaveAndLoad(model), {.threads = 1});
  ASSERT_TRUE(again.ok());
  const auto after = RunOn(**again, {});
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
}

TEST_F(PackageTest, RunsFromPackedWeightsInPlace) {
  const ModelPtr model = FromText(kConvText);
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(session.ok());
  const auto before = RunOn(**session, kPictureShapes);
  ASSERT_TRUE(before.ok()) << before.status().message();
  const ModelPtr loaded = SaveAndLoad(model, {.packed_weights = true});
  EXPECT_EQ(loaded->package()->packed_bytes(), model->packed().bytes());
  auto again = Session::Create(loaded, {.threads = 2});
  ASSERT_TRUE(again.ok());
  const auto after = RunOn(**again, kPictureShapes);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(*before, *after);
  EXPECT_TRUE(PacksNothing(*loaded));
}

TEST_F(PackageTest, HoldsEachWeightOnceUnlessAskedOtherwise) {
  const ModelPtr model = FromText(kConvText);
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(session.ok());
  const auto before = RunOn(**session, kPictureShapes);
  ASSERT_GT(model->packed().bytes(), 0);
  const ModelPtr packed = SaveAndLoad(model, {.packed_weights = true});
  const size_t with_packed = ReadBytes(Path()).size();
  const ModelPtr loaded = SaveAndLoad(model);
  EXPECT_EQ(loaded->package()->packed_count(), 0U);
  EXPECT_EQ(loaded->weight_bytes(), model->weight_bytes());
  EXPECT_GE(with_packed, ReadBytes(Path()).size() + static_cast<size_t>(model->packed().bytes()));
  const auto once = Run(loaded, kPictureShapes), twice = Run(packed, kPictureShapes);
  ASSERT_TRUE(before.ok() && once.ok() && twice.ok());
  EXPECT_EQ(*before, *once);
  EXPECT_EQ(*before, *twice);
}

TEST_F(PackageTest, RunsShapesThatWereNotPackedFor) {
  const ModelPtr model = FromText(kConvText);
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(RunOn(**session, kPictureShapes).ok());
  const ModelPtr loaded = SaveAndLoad(model, {.packed_weights = true});
  for (int64_t height : {1, 7, 33}) {
    const std::map<std::string, Shape> shapes = {{"x", Shape{1, 3, height, 16}}};
    const auto before = Run(model, shapes), after = Run(loaded, shapes);
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_EQ(*before, *after) << height;
  }
}

TEST_F(PackageTest, AnotherBuildPacksAnew) {
  const ModelPtr model = FromText(kConvText);
  auto session = Session::Create(model, {.threads = 2});
  const auto before = RunOn(**session, kPictureShapes);
  PackageInfo info = Info();
  info.build = "another";
  ASSERT_TRUE(SavePackage(Path(), *model, {}, info, {.packed_weights = true}).ok());
  const auto loaded = Model::Load(Path());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto again = Session::Create(*loaded, {.threads = 2});
  const auto after = RunOn(**again, kPictureShapes);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
  EXPECT_FALSE(PacksNothing(**loaded));
}

TEST_F(PackageTest, KeepsDecisionsAndFacts) {
  planner::PlanBook book;
  book.Put(Entry("here"));
  PackageInfo info = Info();
  info.predicted_ms = 1.5;
  info.measured_ms = 2;
  info.default_ms = 3;
  info.measurements = 400;
  info.seed = 5;
  const ModelPtr model = FromText(kConvText);
  ASSERT_TRUE(SavePackage(Path(), *model, book, info).ok());
  const auto loaded = Model::Load(Path(), {.strict = true});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Package& package = *(*loaded)->package();
  EXPECT_EQ(package.info(), info);
  ASSERT_EQ(package.decisions().size(), 1u);
  EXPECT_EQ(package.decisions()[0].key, book.entries()[0].key);
  EXPECT_EQ(package.decisions()[0].text, Entry("here").text);
  EXPECT_EQ((*loaded)->plans()->entries().size(), 1u);
}

TEST_F(PackageTest, SaysWhatItWasNotMadeFor) {
  const ModelPtr model = FromText(kConvText);
  const auto before = Run(model, kPictureShapes);
  PackageInfo version = Info(), device = Info();
  version.library = "0.0.0";
  device.device = "another device";
  for (const auto& [info, code, word] :
       {std::tuple{version, StatusCode::kVersionMismatch, "version 0.0.0"},
        std::tuple{device, StatusCode::kDeviceUnavailable, "another device"}}) {
    planner::PlanBook book;
    book.Put(Entry(info.device));
    ASSERT_TRUE(SavePackage(Path(), *model, book, info).ok());
    const auto strict = Model::Load(Path(), {.strict = true});
    EXPECT_EQ(strict.status().code(), code);
    EXPECT_THAT(strict.status().message(), HasSubstr(word));
    const auto loaded = Model::Load(Path());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    ASSERT_EQ((*loaded)->warnings().size(), 1u);
    EXPECT_THAT((*loaded)->warnings()[0], HasSubstr(word));
    EXPECT_EQ((*loaded)->plans(), nullptr);
    const auto after = Run(*loaded, kPictureShapes);
    ASSERT_TRUE(after.ok()) << after.status().message();
    EXPECT_EQ(*before, *after);
  }
}

TEST_F(PackageTest, APackageMakesAPackage) {
  const ModelPtr model = FromText(kConvText);
  auto session = Session::Create(model, {.threads = 2});
  ASSERT_TRUE(RunOn(**session, kPictureShapes).ok());
  const PackageExtras extras{.packed_weights = true};
  const ModelPtr loaded = SaveAndLoad(model, extras);
  auto again = Session::Create(loaded, {.threads = 2});
  ASSERT_TRUE(RunOn(**again, kPictureShapes).ok());
  // Over the file that it is mapped from.
  const std::vector<std::byte> first = ReadBytes(Path());
  ASSERT_TRUE(SavePackage(Path(), *loaded, {}, loaded->package()->info(), extras).ok());
  EXPECT_EQ(ReadBytes(Path()), first);
}

TEST_F(PackageTest, IsKnownByItsFirstBytes) {
  const ModelPtr model = FromText(kConvText);
  ASSERT_TRUE(SavePackage(Path("m.onnx"), *model, {}, Info()).ok());
  EXPECT_TRUE(Model::Load(Path("m.onnx")).ok());
  const std::vector<std::byte> bytes = ReadBytes(Path("m.onnx"));
  EXPECT_TRUE(Model::LoadBytes(bytes, "memory").ok());
  ASSERT_TRUE(WriteTextFile(Path("text.fettle"), "text").ok());
  const Status status = Model::Load(Path("text.fettle")).status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("text.fettle: not a package"));
}

TEST_F(PackageTest, AFullDiskLeavesNothing) {
  const ModelPtr model = FromText(kConvText);
  ASSERT_TRUE(SavePackage(Path(), *model, {}, Info()).ok());
  const std::vector<std::byte> old = ReadBytes(Path());
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {8192, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = SavePackage(Path(), *model, {}, Info());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_EQ(ReadBytes(Path()), old);
  const auto files = std::filesystem::directory_iterator(folder_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  EXPECT_FALSE(SavePackage(Path("no/such/folder/m.fettle"), *model, {}, Info()).ok());
}

TEST_F(PackageTest, NamesItselfAfterModelAndDevice) {
  const std::string name = PackageFileName("/models/net.v2.onnx", device_);
  EXPECT_TRUE(name.starts_with("net.v2.")) << name;
  EXPECT_TRUE(name.ends_with(".fettle")) << name;
  EXPECT_EQ(name.find_first_of(" /()@"), std::string::npos) << name;
  EXPECT_TRUE(PackageFileName("net", device_).starts_with("net."));
}

}  // namespace
}  // namespace fettle::runtime
