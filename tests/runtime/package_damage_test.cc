// Packages that were cut off, flipped or made by an enemy: a clear message, never a crash, never a
// wrong answer.
#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "base/hash.h"
#include "runtime/package/format.h"
#include "runtime/package/index_generated.h"
#include "tests/runtime/package_files.h"

namespace fettle::runtime {
namespace {

using package::Header;
using package::SectionsBegin;

/// A run with a sanitizer takes a part of the places.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPlaces = 60;
#else
constexpr int kPlaces = 500;
#endif

const std::map<std::string, Shape> kShapes = {{"x", Shape{1, 3, 6, 16}}};

class PackageDamageTest : public PackageFiles {
 protected:
  using Bytes = std::vector<std::byte>;

  /// A package with packed weights and a decision, and what it computes.
  void SetUp() override {
    PackageFiles::SetUp();
    const ModelPtr model = FromText(kConvText);
    auto session = Session::Create(model, {.threads = 2});
    ASSERT_TRUE(session.ok());
    auto outputs = RunOn(**session, kShapes);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    expected_ = *outputs;
    planner::PlanBook book;
    book.Put(Entry("here"));
    ASSERT_TRUE(SavePackage(Path(), *model, book, Info(), {.packed_weights = true}).ok());
    bytes_ = ReadBytes(Path());
  }

  Result<Outputs> RunBytes(const Bytes& bytes) const {
    ASSIGN_OR_RETURN(const ModelPtr model, Model::LoadBytes(bytes, "m.fettle"));
    return Run(model, kShapes);
  }

  /// A failure that names the file, or the right answer.
  void ExpectSafe(const Bytes& bytes, const std::string& what) const {
    const Result<Outputs> outputs = RunBytes(bytes);
    if (outputs.ok()) {
      EXPECT_TRUE(*outputs == expected_) << what << ": a wrong answer";
      return;
    }
    EXPECT_THAT(outputs.status().code(),
                testing::AnyOf(StatusCode::kCorrupt, StatusCode::kVersionMismatch))
        << what << ": " << outputs.status().message();
    EXPECT_THAT(outputs.status().message(), testing::StartsWith("m.fettle: ")) << what;
  }

  Header header() const {
    Header header;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    return header;
  }

  /// The package with its index changed, and all hashes of header and index as they should be.
  Bytes WithIndex(const std::function<void(index::PackageT&)>& change) const {
    const Header old = header();
    index::PackageT package;
    index::GetPackage(bytes_.data() + sizeof(Header))->UnPackTo(&package);
    change(package);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(index::CreatePackage(builder, &package));
    const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    const Bytes blobs(bytes_.begin() + SectionsBegin(old.index_bytes), bytes_.end());
    return Assemble({begin, begin + builder.GetSize()}, blobs);
  }

  static Bytes Assemble(const Bytes& index, const Bytes& blobs) {
    Bytes bytes(SectionsBegin(index.size()));
    std::ranges::copy(index, bytes.begin() + sizeof(Header));
    bytes.insert(bytes.end(), blobs.begin(), blobs.end());
    Header header = {};
    std::memcpy(header.magic, package::kMagic.data(), package::kMagic.size());
    header.format = package::kFormat;
    header.file_bytes = bytes.size();
    header.index_bytes = index.size();
    header.index_hash = HashBytes(index);
    header.header_hash =
        HashBytes(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_hash)));
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  }

  void ExpectRefused(const char* what, const std::function<void(index::PackageT&)>& change) const {
    const Result<Outputs> outputs = RunBytes(WithIndex(change));
    EXPECT_FALSE(outputs.ok()) << what;
    if (outputs.ok()) return;
    EXPECT_THAT(
        outputs.status().code(),
        testing::AnyOf(StatusCode::kCorrupt, StatusCode::kUnsupported, StatusCode::kInvalidModel))
        << what << ": " << outputs.status().message();
  }

  Bytes bytes_;
  Outputs expected_;
};

TEST_F(PackageDamageTest, Truncations) {
  std::mt19937 random(1);
  std::uniform_int_distribution<size_t> sizes(0, bytes_.size() - 1);
  for (int i = 0; i < kPlaces; ++i) {
    const size_t size = i < 80 ? static_cast<size_t>(i) : sizes(random);
    const Status status = Model::LoadBytes(std::span(bytes_).first(size), "m.fettle").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << size;
    EXPECT_THAT(status.message(), testing::StartsWith("m.fettle: ")) << size;
  }
}

TEST_F(PackageDamageTest, FlippedBits) {
  std::mt19937 random(2);
  std::uniform_int_distribution<size_t> places(0, bytes_.size() * 8 - 1);
  for (int i = 0; i < kPlaces; ++i) {
    // The header and the begin of the index more often than their share.
    const size_t bit = i % 4 == 0 ? places(random) % 16384 : places(random);
    Bytes flipped = bytes_;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    ExpectSafe(flipped, fmt::format("bit {}", bit));
  }
}

TEST_F(PackageDamageTest, EverySectionIsCheckedWhenItIsLoaded) {
  const Header header = this->header();
  const auto* package = index::GetPackage(bytes_.data() + sizeof(Header));
  ASSERT_GT(package->sections()->size(), 1u);
  for (const index::Section* section : *package->sections()) {
    Bytes flipped = bytes_;
    flipped[SectionsBegin(header.index_bytes) + section->offset() + section->bytes() / 2] ^=
        std::byte{1};
    const Status status = Model::LoadBytes(flipped, "m.fettle").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << section->offset();
    EXPECT_THAT(status.message(), testing::HasSubstr("have changed since they were written"));
  }
}

TEST_F(PackageDamageTest, AnotherFormatIsNamed) {
  Header header = this->header();
  header.format = 7;
  header.header_hash =
      HashBytes(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_hash)));
  std::memcpy(bytes_.data(), &header, sizeof(header));
  const Status status = Model::LoadBytes(bytes_, "m.fettle").status();
  EXPECT_EQ(status.code(), StatusCode::kVersionMismatch);
  EXPECT_THAT(status.message(), testing::HasSubstr("has format 7, this version reads 1"));
}

TEST_F(PackageDamageTest, AnUnchangedIndexIsAccepted) {
  const auto outputs = RunBytes(WithIndex([](index::PackageT&) {}));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_TRUE(*outputs == expected_);
}

TEST_F(PackageDamageTest, HostileSections) {
  using index::PackageT;
  using index::Section;
  ExpectRefused("overlap", [](PackageT& p) {
    p.sections[1] = Section(0, p.sections[1].bytes(), p.sections[1].hash());
  });
  ExpectRefused("huge", [](PackageT& p) {
    p.sections[0] = Section(0, ~uint64_t{0} - 100, p.sections[0].hash());
  });
  ExpectRefused("far away", [](PackageT& p) {
    p.sections[0] = Section(uint64_t{1} << 63, p.sections[0].bytes(), p.sections[0].hash());
  });
  ExpectRefused("unaligned", [](PackageT& p) {
    p.sections[1] = Section(p.sections[1].offset() + 1, p.sections[1].bytes(), 0);
  });
  ExpectRefused("too few", [](PackageT& p) { p.sections.pop_back(); });
  ExpectRefused("none", [](PackageT& p) { p.sections.clear(); });
  ExpectRefused("a packed weight without", [](PackageT& p) { p.packed[0]->section = 1000; });
  ExpectRefused("a packed weight of another size", [](PackageT& p) {
    for (auto& packed : p.packed) packed->section ^= 1;
  });
}

TEST_F(PackageDamageTest, HostileGraphs) {
  using index::PackageT;
  ExpectRefused("none", [](PackageT& p) { p.graphs.clear(); });
  ExpectRefused("one too many", [](PackageT& p) {
    p.graphs.push_back(std::make_unique<index::GraphT>(*p.graphs[0]));
  });
  ExpectRefused("a cycle", [](PackageT& p) {
    auto& nodes = p.graphs[0]->nodes;
    nodes[0]->inputs[0] = nodes[1]->outputs[0];
  });
  ExpectRefused("a node of itself", [](PackageT& p) {
    p.graphs[0]->nodes[0]->inputs[0] = p.graphs[0]->nodes[0]->outputs[0];
  });
  for (int32_t id : {-2, 1000, INT32_MIN, INT32_MAX}) {
    ExpectRefused("an input", [id](PackageT& p) { p.graphs[0]->nodes[0]->inputs[0] = id; });
    ExpectRefused("an output", [id](PackageT& p) { p.graphs[0]->nodes[0]->outputs[0] = id; });
    ExpectRefused("a graph input", [id](PackageT& p) { p.graphs[0]->inputs[0] = id; });
    ExpectRefused("a graph output", [id](PackageT& p) { p.graphs[0]->outputs[0] = id; });
  }
  ExpectRefused("no operands", [](PackageT& p) { p.graphs[0]->nodes[0]->inputs.clear(); });
  ExpectRefused("no results", [](PackageT& p) { p.graphs[0]->nodes[0]->outputs.clear(); });
  ExpectRefused("an unknown operator", [](PackageT& p) { p.graphs[0]->nodes[0]->op = "Foo"; });
  ExpectRefused("an unknown type", [](PackageT& p) { p.graphs[0]->values[0]->dtype = "f33"; });
  ExpectRefused("a constant that is none",
                [](PackageT& p) { p.graphs[0]->values[0]->constant = 1000; });
  ExpectRefused("an extent below -1", [](PackageT& p) { p.graphs[0]->values[0]->shape = {-5}; });
  ExpectRefused("many axes", [](PackageT& p) { p.graphs[0]->values[0]->shape.assign(1000, 1); });
}

TEST_F(PackageDamageTest, HostileConstants) {
  using index::PackageT;
  ExpectRefused("of another shape", [](PackageT& p) {
    for (auto& constant : p.constants) constant->shape.push_back(3);
  });
  ExpectRefused("whose extents overflow", [](PackageT& p) {
    for (auto& constant : p.constants)
      constant->shape = {int64_t{1} << 32, int64_t{1} << 32, int64_t{1} << 32};
  });
  ExpectRefused("of strings", [](PackageT& p) {
    for (auto& constant : p.constants) constant->dtype = "string";
  });
  ExpectRefused("without a section", [](PackageT& p) {
    for (auto& constant : p.constants) constant->section = 1 << 30;
  });
  ExpectRefused("with elements left out", [](PackageT& p) {
    for (auto& constant : p.constants) constant->elements.clear();
  });
  ExpectRefused("of booleans that are none", [](PackageT& p) {
    auto constant = std::make_unique<index::ConstantT>();
    constant->dtype = "bool";
    constant->shape = {1};
    constant->elements = {2};
    p.constants.push_back(std::move(constant));
  });
}

TEST_F(PackageDamageTest, HostileCompactFloats) {
  const ModelPtr model = FromText(R"(
input %x: f32[1x3x6x16]
const %w: f32[64x3x6x4]
const %zero: f32[1] = splat 0
const %one: f32[1] = splat 0.7
const %minus: f32[1] = splat -0.7
%g = GreaterOrEqual(%w, %zero)
%s = Where(%g, %one, %minus)
%y = Conv(%x, %s)
output %y
)");
  ASSERT_TRUE(SavePackage(Path(), *model, {}, Info()).ok());
  bytes_ = ReadBytes(Path());
  ASSERT_TRUE(RunBytes(bytes_).ok());
  using index::PackageT;
  const auto with = [&](const char* what, const std::function<void(index::ConstantT&)>& change) {
    ExpectRefused(what, [&](PackageT& p) {
      int changed = 0;
      for (auto& constant : p.constants) {
        if (constant->contents != index::Contents_Bits) continue;
        change(*constant);
        ++changed;
      }
      EXPECT_EQ(changed, 1);
    });
  };
  for (int64_t extent : {int64_t{0}, int64_t{-1}, int64_t{2}, int64_t{1} << 62, INT64_MIN}) {
    with("of other slices", [&](index::ConstantT& c) { c.slices = extent; });
    if (extent != 2) with("of other runs", [&](index::ConstantT& c) { c.inner = extent; });
  }
  with("as halves", [](index::ConstantT& c) { c.contents = index::Contents_Halves; });
  with("as bytes", [](index::ConstantT& c) { c.contents = index::Contents_Bytes; });
  with("as what is not known", [](index::ConstantT& c) { c.contents = index::Contents(99); });
  with("of another type", [](index::ConstantT& c) { c.dtype = "i32"; });
  with("of another shape", [](index::ConstantT& c) { c.shape.push_back(9); });
  with("without a section", [](index::ConstantT& c) { c.section = 1 << 30; });
  bytes_[bytes_.size() - 200] ^= std::byte{4};
  const Status damaged = RunBytes(bytes_).status();
  EXPECT_EQ(damaged.code(), StatusCode::kCorrupt);
  EXPECT_THAT(damaged.message(), testing::HasSubstr("have changed since they were written"));
}

/// Sub-graphs that name each other, themselves, or one graph twice.
TEST_F(PackageDamageTest, HostileSubGraphs) {
  using index::PackageT;
  const auto refer = [](PackageT& p, size_t from, uint32_t to, const char* name) {
    auto attribute = std::make_unique<index::AttributeT>();
    attribute->name = name;
    index::GraphRefT graph;
    graph.index = to;
    attribute->value.Set(std::move(graph));
    p.graphs[from]->nodes[0]->attributes.push_back(std::move(attribute));
  };
  const auto add = [](PackageT& p) {
    p.graphs.push_back(std::make_unique<index::GraphT>(*p.graphs[0]));
  };
  ExpectRefused("itself", [&](PackageT& p) { refer(p, 0, 0, "a"); });
  ExpectRefused("nothing", [&](PackageT& p) { refer(p, 0, 7, "a"); });
  ExpectRefused("each other", [&](PackageT& p) {
    add(p);
    refer(p, 0, 1, "a");
    refer(p, 1, 0, "a");
  });
  ExpectRefused("one twice", [&](PackageT& p) {
    add(p);
    refer(p, 0, 1, "a");
    refer(p, 0, 1, "b");
  });
  ExpectRefused("a deep chain", [&](PackageT& p) {
    for (int i = 0; i < 1000; ++i) add(p);
    for (uint32_t i = 0; i < 1000; ++i) refer(p, i, i + 1, "a");
  });
}

/// Tables of an index may share others; what they ask for together stays within the index's size.
TEST_F(PackageDamageTest, SharedPartsAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(std::string(1 << 20, 'n'));
  const auto dtype = builder.CreateString("f32");
  const auto empty = builder.CreateVector(std::vector<int32_t>());
  const auto value = index::CreateValue(builder, text, dtype);
  const auto values =
      builder.CreateVector(std::vector<flatbuffers::Offset<index::Value>>(100000, value));
  const auto nodes = builder.CreateVector(std::vector<flatbuffers::Offset<index::Node>>());
  const auto graph = index::CreateGraph(builder, dtype, empty, empty, values, nodes);
  const auto graphs = builder.CreateVector(std::vector{graph});
  const auto info = index::CreateInfo(builder, dtype, dtype, dtype, dtype);
  builder.Finish(index::CreatePackage(
      builder, info, builder.CreateVectorOfStructs(std::vector<index::Section>()),
      builder.CreateVector(std::vector<flatbuffers::Offset<index::Constant>>()), graphs,
      builder.CreateVector(std::vector<flatbuffers::Offset<index::Packed>>()),
      builder.CreateVector(std::vector<flatbuffers::Offset<index::Decision>>())));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const Status status =
      Model::LoadBytes(Assemble({begin, begin + builder.GetSize()}, {}), "m.fettle").status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.message();
}

}  // namespace
}  // namespace fettle::runtime
