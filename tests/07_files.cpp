/// @file
/// @brief The files of a model, as tests: what is written can be read, and nothing that is read is
/// believed.

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <functional>

#include "book_text.hpp"
#include "config_file.hpp"
#include "files.hpp"
#include "safetensors.hpp"
#include "support.hpp"
#include "vocabulary.hpp"

namespace {

namespace fs = std::filesystem;

using Shape = std::vector<std::size_t>;
using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

constexpr const char* real = sizeof(Real) == 4 ? "F32" : "F64";

/// Finite numbers of every kind: zeros of both signs, the smallest, the largest, and some between.
std::vector<Real> unusual_numbers() {
  using limits = std::numeric_limits<Real>;
  return {0, -Real(0),  limits::denorm_min(), -limits::min(),   limits::max(), limits::lowest(),
          1, Real(0.1), -Real(1) / 3,         limits::epsilon()};
}

bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  const auto same = [](Real x, Real y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// The bytes of a file with this header, as it stands, and these numbers.
std::string file_of(const std::string& header, const std::string& data) {
  return bytes_of<std::uint64_t>({header.size()}) + header + data;
}

/// The same with that many bytes of numbers, all zero.
std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
  return file_of(header, std::string(data_bytes, '\0'));
}

/// `"name":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
std::string entry(const std::string& name, const std::string& shape, const std::string& offsets,
                  const std::string& dtype = "F32") {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
                     shape, offsets);
}

/// Reads floats from a file that has them as the tensor w.
void read_floats(const std::vector<float>& floats, const Shape& shape) {
  const TemporaryFolder folder;
  const std::string header =
      "{" +
      entry("w", fmt::format("{}", fmt::join(shape, ",")), fmt::format("0,{}", 4 * floats.size())) +
      "}";
  SafetensorsFile file(folder.add("model.safetensors", file_of(header, bytes_of(floats))));
  std::vector<Real> numbers(floats.size());
  file.read("w", shape, numbers.data());
}

/// A file with the tensors a, (2, 2), and b, (2,), and a word about itself.
std::string sound_file() {
  return file_of("{\"__metadata__\":{\"format\":\"pt\"}," + entry("a", "2,2", "0,16") + "," +
                     entry("b", "2", "16,24") + "}",
                 24);
}

/// What a reader says to a file with these bytes; nothing if it takes it.
std::string complaint(const std::string& bytes, const TemporaryFolder& folder = TemporaryFolder()) {
  try {
    SafetensorsFile(folder.add("model.safetensors", bytes));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

bool complains(const std::string& bytes, const std::string& part) {
  const std::string words = complaint(bytes);
  UNSCOPED_INFO("the reader said: " << (words.empty() ? "nothing" : words));
  return words.find(part) != words.npos;
}

/// The output of tests/safetensors, which is another program's idea of the format.
std::string in_python(const std::string& action, const fs::path& file) {
  const std::string command =
      fmt::format("'{}/../safetensors' {} '{}' 2>&1", GOLDEN_FOLDER, action, file.string());
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  if (pclose(pipe) != 0) throw std::runtime_error(command + ": " + output);
  return output;
}

std::string in_hexadecimal(const std::vector<Real>& numbers) {
  std::string text;
  for (const Real number : numbers) {
    text += fmt::format(" {:0{}x}", std::bit_cast<Bits>(number), 2 * sizeof(Real));
  }
  return text;
}

}  // namespace

TEST_CASE("tensors come back from a file bit by bit") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const std::vector<Real> numbers = unusual_numbers();
  std::vector<Real> many(10007);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::sin(Real(i));
  const Metadata metadata = {{"format", "pt"}, {"mémo", "“quoted”\n"}};
  write_safetensors(path,
                    {{"z.first", {2, 5}, numbers.data()},
                     {"many", {10007}, many.data()},
                     {"one", {}, numbers.data() + 7},
                     {"none", {3, 0}, nullptr},
                     {"é.last", {10, 1, 1}, numbers.data()}},
                    metadata);
  CHECK(folder.files() == 1);
  SafetensorsFile file(path);
  CHECK(file.metadata() == metadata);
  const auto read = [&file](const std::string& name, const Shape& shape, std::size_t count) {
    std::vector<Real> result(count, 42);
    file.read(name, shape, result.data());
    return result;
  };
  CHECK(same_bits(read("é.last", {10, 1, 1}, 10), numbers));
  CHECK(same_bits(read("many", {10007}, 10007), many));
  CHECK(same_bits(read("z.first", {2, 5}, 10), numbers));
  CHECK(same_bits(read("one", {}, 1), {numbers[7]}));
  CHECK(same_bits(read("none", {3, 0}, 0), {}));
}

TEST_CASE("a file lists its tensors in the order of their names") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const std::vector<Real> numbers(6, 1);
  write_safetensors(path, {{"b", {6}, numbers.data()}, {"a", {2, 3}, numbers.data()}});
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[0].shape == Shape{2, 3});
  CHECK(file.tensors()[0].dtype == real);
  CHECK(file.tensors()[1].name == "b");
  CHECK(file.find("a") == &file.tensors()[0]);
  CHECK(file.find("b") == &file.tensors()[1]);
  CHECK(file.find("aa") == nullptr);
  CHECK(file.find("c") == nullptr);
}

TEST_CASE("a file has the bytes that the format describes") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  write_safetensors(path, std::vector<TensorToWrite>{});
  CHECK(content_of(path) == file_of("{}      "));
  const std::vector<Real> zeros(6, 0);
  write_safetensors(path, {{"attn0", {1, 1, 2, 3}, zeros.data()}}, {{"framework", "pt"}});
  const std::size_t bytes = 6 * sizeof(Real);
  std::string header = "{\"__metadata__\":{\"framework\":\"pt\"}," +
                       entry("attn0", "1,1,2,3", fmt::format("0,{}", bytes), real) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(content_of(path) == file_of(header, bytes));
}

TEST_CASE("another program reads what is written") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const std::vector<Real> numbers = unusual_numbers();
  write_safetensors(path,
                    {{"h.0.attn.c_attn.weight", {2, 5}, numbers.data()},
                     {"é", {10}, numbers.data()},
                     {"one", {}, numbers.data()},
                     {"none", {0, 4}, nullptr}},
                    {{"format", "pt"}, {"step", "17"}});
  const std::string bits = in_hexadecimal(numbers);
  const std::string name = std::string(" ") + real;
  CHECK(in_python("show", path) == "# format pt\n# step 17\nh.0.attn.c_attn.weight" + name +
                                       " 2x5" + bits + "\né" + name + " 10" + bits + "\none" +
                                       name + " -" + in_hexadecimal({numbers[0]}) + "\nnone" +
                                       name + " 0x4\n");
}

TEST_CASE("what another program writes is read") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const fs::path lines = folder.add("lines",
                                    "# format pt\n"
                                    "wte.weight F32 2x2 3f800000 bdcccccd 00000001 80000000\n"
                                    "half F16 2 3c00 4000\n"
                                    "double F64 1x2 3fb999999999999a c000000000000000\n"
                                    "none F32 0x7\n"
                                    "one F32 - 40490fdb\n");
  in_python("write", path.string() + "' <'" + lines.string());
  SafetensorsFile file(path);
  CHECK(file.metadata() == Metadata{{"format", "pt"}});
  CHECK(file.tensors().size() == 5);
  std::vector<Real> four(4);
  file.read("wte.weight", {2, 2}, four.data());
  CHECK(same_bits(four,
                  {Real(1.0F), Real(-0.1F), std::numeric_limits<float>::denorm_min(), -Real(0)}));
  std::vector<Real> two(2);
  file.read("double", {1, 2}, two.data());
  CHECK(same_bits(two, {Real(0.1), Real(-2)}));
  Real one = 0;
  file.read("one", {}, &one);
  CHECK(one == Real(3.14159274F));
  file.read("none", {0, 7}, nullptr);
  CHECK_THAT(
      message_of([&] { file.read("half", {2}, two.data()); }),
      ContainsSubstring("half has numbers of the kind F16, but only F32 and F64 can be read"));
}

TEST_CASE("a tensor of another name or shape is refused") {
  const TemporaryFolder folder;
  SafetensorsFile file(folder.add("model.safetensors", sound_file()));
  std::vector<Real> numbers(4, 42);
  CHECK_THAT(message_of([&] { file.read("c", {2}, numbers.data()); }),
             ContainsSubstring("model.safetensors: it has no tensor c"));
  CHECK_THAT(message_of([&] { file.read("a", {4}, numbers.data()); }),
             ContainsSubstring("model.safetensors: a has the shape (2, 2), but (4) is needed"));
  CHECK_THAT(message_of([&] { file.read("b", {}, numbers.data()); }),
             ContainsSubstring("but () is needed"));
  CHECK(same_bits(numbers, {42, 42, 42, 42}));
  file.read("a", {2, 2}, numbers.data());
  CHECK(same_bits(numbers, {0, 0, 0, 0}));
}

TEST_CASE("numbers that are not finite are refused with their place") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_NOTHROW(read_floats({0, 1, 2, 3}, {2, 2}));
  CHECK_THAT(message_of([&] {
               read_floats({0, 1, nan, 3}, {2, 2});
             }),
             ContainsSubstring("w(1, 0) is nan, which is no finite "));
  CHECK_THAT(message_of([&] {
               read_floats({0, 1, 2, -infinity}, {4});
             }),
             ContainsSubstring("w(3) is -inf"));
  CHECK_THAT(message_of([&] { read_floats({infinity}, {}); }), ContainsSubstring("w() is inf"));
  std::vector<float> many(10000, 1);  // more than are read at once
  many[9876] = nan;
  CHECK_THAT(message_of([&] {
               read_floats(many, {100, 100});
             }),
             ContainsSubstring("w(98, 76) is nan"));
}

TEST_CASE("doubles are read if Real can hold them") {
  const TemporaryFolder folder;
  const auto read = [&folder](double number) {
    const std::string header = "{" + entry("w", "", "0,8", "F64") + "}";
    SafetensorsFile file(folder.add("w", file_of(header, bytes_of<double>({number}))));
    Real result = 42;
    file.read("w", {}, &result);
    return result;
  };
  CHECK(read(0.1) == Real(0.1));
  CHECK(read(-3e38) == Real(-3e38));
  CHECK_THAT(message_of([&] { read(std::numeric_limits<double>::infinity()); }),
             ContainsSubstring("w() is inf"));
  if (sizeof(Real) == 4) {
    CHECK_THAT(message_of([&] { read(-1e300); }),
               ContainsSubstring("w() is -1e+300, which is no finite float"));
  } else {
    CHECK(read(-1e300) == Real(-1e300));
  }
}

TEST_CASE("numbers that are not finite do not take the place of those that are") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  std::vector<Real> numbers(6, 1);
  write_safetensors(path, {{"w", {2, 3}, numbers.data()}});
  const std::string before = content_of(path);
  numbers[5] = std::numeric_limits<Real>::quiet_NaN();
  CHECK_THAT(message_of([&] {
               write_safetensors(path, {{"w", {2, 3}, numbers.data()}});
             }),
             ContainsSubstring("w(1, 2) is nan, and only finite numbers are written"));
  CHECK(content_of(path) == before);
  CHECK(folder.files() == 1);
}

TEST_CASE("two tensors of one name are not written") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  const Real number = 1;
  const TensorToWrite tensor{"w", {}, &number};
  CHECK_THAT(message_of([&] {
               write_safetensors(path, {tensor, tensor});
             }),
             ContainsSubstring("the name \"w\" is taken"));
  const TensorToWrite disguised{"__metadata__", {}, &number};
  CHECK_THAT(message_of([&] {
               write_safetensors(path, {tensor, disguised});
             }),
             ContainsSubstring("the name \"__metadata__\" is taken"));
  CHECK(folder.files() == 0);
}

TEST_CASE("a file that cannot be written leaves nothing half-written") {
  const TemporaryFolder folder;
  const std::vector<Real> numbers(100000, 1);
  const std::vector<TensorToWrite> tensors = {{"w", {100000}, numbers.data()}};
  const fs::path path = folder.add("model.safetensors", sound_file());
  {
    const SmallDisk small(100000);
    CHECK_THAT(message_of([&] { write_safetensors(path, tensors); }),
               ContainsSubstring("File too large"));
  }
  CHECK(content_of(path) == sound_file());
  CHECK_THAT(message_of([&] { write_safetensors(path / "below", tensors); }),
             ContainsSubstring("Not a directory"));
  CHECK_THAT(message_of([&] { write_safetensors(folder.path() / "no" / "x", tensors); }),
             ContainsSubstring("No such file or directory"));
  CHECK_THAT(message_of([&] { write_safetensors(folder.path(), tensors); }),
             ContainsSubstring("it is a folder"));
  CHECK_THAT(message_of([&] { write_safetensors("/proc/model.safetensors", tensors); }),
             ContainsSubstring("cannot write /proc/model.safetensors: "));
  CHECK(folder.files() == 1);
}

TEST_CASE("anything but a regular file is rejected") {
  const TemporaryFolder folder;
  CHECK_THAT(message_of([&] { SafetensorsFile(folder.path() / "no"); }),
             ContainsSubstring("no: No such file or directory"));
  CHECK_THAT(message_of([&] { SafetensorsFile(folder.path() / "no" / "no"); }),
             ContainsSubstring("No such file or directory"));
  CHECK_THAT(message_of([&] { SafetensorsFile file(folder.path()); }),
             ContainsSubstring("it is a folder"));
  CHECK_THAT(message_of([] { SafetensorsFile("/dev/zero"); }),
             ContainsSubstring("it is not a regular file"));
}

TEST_CASE("a file that ends anywhere too soon is refused") {
  const std::string whole = sound_file();
  CHECK(complaint(whole) == "");
  const TemporaryFolder folder;  // one for all: making them would take most of the time
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("the first " << length << " of " << whole.size() << " bytes");
    CHECK_FALSE(complaint(whole.substr(0, length), folder).empty());
  }
  CHECK(complains(whole + '\0', "its tensors have 24 bytes, but 25 bytes follow the header"));
}

TEST_CASE("a file that shrinks while it is open is noticed") {
  const TemporaryFolder folder;
  const fs::path path = folder.add("model.safetensors", sound_file());
  SafetensorsFile file(path);
  fs::resize_file(path, sound_file().size() - 1);
  std::vector<Real> numbers(4);
  CHECK_THAT(message_of([&] { file.read("b", {2}, numbers.data()); }),
             ContainsSubstring("it ends in the middle of b"));
  file.read("a", {2, 2}, numbers.data());  // which is still whole
  CHECK(same_bits(numbers, {0, 0, 0, 0}));
}

TEST_CASE("a header longer than its file is refused before anything is allocated") {
  for (const std::uint64_t length :
       {std::uint64_t{1}, std::uint64_t{25}, std::uint64_t{1} << 31, std::uint64_t{1} << 60,
        std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    INFO("a header of " << length << " bytes");
    CHECK(complains(bytes_of<std::uint64_t>({length}) + (length == 1 ? "" : "{}      "),
                    fmt::format("its header should have {} bytes, but the file has", length)));
  }
}

TEST_CASE("a header longer than any model needs is refused") {
  const TemporaryFolder folder;
  const std::uint64_t length = longest_header + 1;
  const fs::path path = folder.add("model.safetensors", bytes_of<std::uint64_t>({length}));
  fs::resize_file(path, 8 + length);  // a hole: it takes no space on the disk
  CHECK_THAT(message_of([&] { SafetensorsFile file(path); }),
             ContainsSubstring("its header should have 100000001 bytes"));
}

TEST_CASE("headers that are not JSON are refused") {
  CHECK(complains(file_of(""), "its header does not begin with {"));
  CHECK(complains(file_of(" {}"), "its header does not begin with {"));
  CHECK(complains(file_of("\xEF\xBB\xBF{}"), "its header does not begin with {"));
  CHECK(complains(file_of("[]"), "its header does not begin with {"));
  CHECK(complains(file_of(std::string("{}\0\0", 4)), "its header has a NUL byte"));
  CHECK(complains(file_of("{"), "its header cannot be read at byte 2"));
  CHECK(complains(file_of("{}{}"), "its header cannot be read at byte 3"));
  CHECK(complains(file_of("{} // nothing"), "its header cannot be read at byte 4"));
  CHECK(complains(file_of("{\"a\":}"), "its header cannot be read at byte"));
  CHECK(complains(file_of("{\"a\xFF\":{}}"), "its header cannot be read at byte"));
  CHECK(complains(file_of("{\"\\ud800\":{}}"), "its header cannot be read at byte"));
  CHECK(complaint(file_of("{} \n\t")) == "");
}

TEST_CASE("headers that are nested deeply are refused where the nesting begins") {
  constexpr std::size_t deep = 100000;
  CHECK(complains(file_of("{\"a\":" + std::string(deep, '[')), "\"a\" is a list"));
  std::string objects = "{";
  for (std::size_t i = 0; i < deep; ++i) objects += "\"a\":{";
  CHECK(complains(file_of(objects), "a of \"a\" is an object"));
  CHECK(complains(file_of("{\"a\":{\"shape\":[" + std::string(deep, '[')),
                  "shape of \"a\" is a list"));
}

TEST_CASE("headers that say something else than the format does are refused") {
  const auto with = [](const std::string& fields) {
    return file_of("{\"a\":{" + fields + "}}", 8);
  };
  const std::string dtype = R"("dtype":"F32")";
  const std::string shape = R"("shape":[2])";
  const std::string offsets = R"("data_offsets":[0,8])";
  CHECK(complaint(with(offsets + "," + shape + "," + dtype)) == "");  // in any order
  CHECK(complains(with(dtype + "," + shape), "\"a\" has no data_offsets"));
  CHECK(complains(with(dtype + "," + offsets), "\"a\" has no shape"));
  CHECK(complains(with(shape + "," + offsets), "\"a\" has no dtype"));
  CHECK(complains(with(dtype + "," + dtype + "," + shape + "," + offsets),
                  "dtype of \"a\" is there twice"));
  CHECK(complains(with(dtype + "," + shape + "," + offsets + ",\"x\":\"y\""),
                  "x of \"a\" is a text"));
  CHECK(complains(with("\"dtype\":32," + shape + "," + offsets), "dtype of \"a\" is 32"));
  CHECK(complains(with("\"dtype\":null," + shape + "," + offsets), "dtype of \"a\" is null"));
  CHECK(complains(with("\"dtype\":[]," + shape + "," + offsets), "dtype of \"a\" is a list"));
  CHECK(complains(with(dtype + ",\"shape\":2," + offsets), "shape of \"a\" is 2"));
  CHECK(complains(with(dtype + ",\"shape\":\"2\"," + offsets), "shape of \"a\" is a text"));
  CHECK(complains(with(dtype + ",\"shape\":[true]," + offsets), "shape of \"a\" is true"));
  CHECK(complains(with(dtype + "," + shape + ",\"data_offsets\":[0]"),
                  "data_offsets of \"a\" has 1 numbers instead of 2"));
  CHECK(complains(with(dtype + "," + shape + ",\"data_offsets\":[0,8,8]"), "has 3 numbers"));
  CHECK(complains(file_of("{\"a\":[]}"), "\"a\" is a list"));
  CHECK(complains(file_of("{\"a\":null}"), "\"a\" is null"));
  CHECK(complains(file_of("{\"a\":{}}"), "\"a\" has no dtype"));
  CHECK(complains(file_of("{\"__metadata__\":{\"step\":7}}"), "step of \"__metadata__\" is 7"));
  CHECK(complains(file_of("{\"__metadata__\":{\"a\":{}}}"), "a of \"__metadata__\" is an object"));
  CHECK(complains(file_of(R"({"__metadata__":{"a":"1","a":"2"}})"), "is there twice"));
  CHECK(complains(file_of(R"({"__metadata__":{},"__metadata__":{}})"),
                  "\"__metadata__\" is there twice"));
}

TEST_CASE("a tensor whose name is there twice is refused") {
  const std::string twice = "{" + entry("a", "1", "0,4") + "," + entry("a", "1", "4,8") + "}";
  CHECK(complains(file_of(twice, 8), "\"a\" is there twice"));
  const std::string written_otherwise =
      "{" + entry("a", "1", "0,4") + "," + entry("\\u0061", "1", "4,8") + "}";
  CHECK(complains(file_of(written_otherwise, 8), "\"a\" is there twice"));
}

TEST_CASE("sizes that are no whole numbers are refused") {
  for (const char* size : {"-1", "-0", "2.0", "2e0", "1e400", "18446744073709551616", "NaN",
                           "Infinity", "0x2", "02", "+2", "\"2\"", "null"}) {
    INFO("a shape or an offset of " << size);
    CHECK_FALSE(complaint(file_of("{" + entry("a", size, "0,8") + "}", 8)).empty());
    CHECK_FALSE(
        complaint(file_of("{" + entry("a", "2", std::string(size) + ",8") + "}", 8)).empty());
  }
  CHECK(complains(file_of("{" + entry("a", "2.0", "0,8") + "}", 8), "shape of \"a\" is 2.0"));
  CHECK(complains(file_of("{" + entry("a", "-1", "0,8") + "}", 8), "shape of \"a\" is -1"));
}

TEST_CASE("offsets that do not fit the shape are refused") {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return file_of("{" + entry("a", shape, offsets) + "}", 16);
  };
  CHECK(complaint(one("2,2", "0,16")) == "");
  CHECK(complains(
      one("2,2", "0,15"),
      "\"a\" has the shape (2, 2) of F32, which needs 16 bytes, but its offsets are 0 and 15"));
  CHECK(complains(one("2,2", "16,0"), "its offsets are 16 and 0"));
  CHECK(complains(one("2,3", "0,16"), "which needs 24 bytes"));
  CHECK(complains(one("", "0,16"), "shape () of F32, which needs 4 bytes"));
  CHECK(complains(one("2,2", "0,18446744073709551615"), "which needs 16 bytes"));
  CHECK(complains(one("2,2", "18446744073709551615,15"), "which needs 16 bytes"));
  CHECK(
      complains(one("2,2", "4,20"), "\"a\" begins at byte 4, but the tensors before it end at 0"));
  CHECK(complains(one("2,3", "0,24"), "its tensors have 24 bytes, but 16 bytes follow the header"));
  CHECK(complains(one("3", "0,12"), "its tensors have 12 bytes, but 16 bytes follow the header"));
}

TEST_CASE("shapes whose product does not fit 64 bits are refused") {
  const auto one = [](const std::string& shape) {
    return file_of("{" + entry("a", shape, "0,0") + "}");
  };
  for (const char* shape : {"4611686018427387904", "4294967296,4294967296", "18446744073709551615",
                            "2,2,2,1152921504606846976", "3,6148914691236517206"}) {
    INFO("the shape " << shape);
    CHECK(complains(one(shape), "which has too many numbers"));
  }
  CHECK(complaint(one("0,18446744073709551615,18446744073709551615")) == "");  // nothing at all
  std::string long_shape = "1";
  for (int i = 1; i < 33; ++i) long_shape += ",1";
  CHECK(complains(one(long_shape), "shape of \"a\" has more than 32 numbers"));
}

TEST_CASE("tensors that share bytes or leave some out are refused") {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes = 16) {
    return file_of("{" + entry("a", "2", a) + "," + entry("b", "2", b) + "}", bytes);
  };
  CHECK(complaint(two("0,8", "8,16")) == "");
  CHECK(complaint(two("8,16", "0,8")) == "");
  CHECK(complains(two("0,8", "4,12", 12),
                  "\"b\" begins at byte 4, but the tensors before it end at 8"));
  CHECK(complains(two("0,8", "0,8", 8), "begins at byte 0, but the tensors before it end at 8"));
  CHECK(complains(two("0,8", "12,20", 20),
                  "\"b\" begins at byte 12, but the tensors before it end at 8"));
  CHECK(complains(two("0,8", "8,16", 8), "its tensors have 16 bytes, but 8 bytes follow"));
}

TEST_CASE("tensors without numbers lie where a tensor may begin") {
  const auto with = [](const std::string& offsets) {
    return file_of("{" + entry("a", "2", "0,8") + "," + entry("none", "0", offsets) + "," +
                       entry("b", "2", "8,16") + "}",
                   16);
  };
  CHECK(complaint(with("0,0")) == "");
  CHECK(complaint(with("8,8")) == "");
  CHECK(complaint(with("16,16")) == "");
  CHECK(complains(with("4,4"), "begins at byte"));
  CHECK(complains(with("20,20"), "begins at byte 20"));
  CHECK(complains(with("0,8"), "\"none\" has the shape (0) of F32, which needs 0 bytes"));
}

TEST_CASE("a file may have many tensors") {
  constexpr std::size_t count = 2000;
  std::string header = "{";
  for (std::size_t i = 0; i < count; ++i) {
    header += entry(fmt::format("t{}", i), "", fmt::format("{},{}", 4 * i, 4 * i + 4)) + ",";
  }
  header.back() = '}';
  const TemporaryFolder folder;
  const SafetensorsFile file(folder.add("model.safetensors", file_of(header, 4 * count)));
  CHECK(file.tensors().size() == count);
  REQUIRE(file.find("t1999") != nullptr);
  CHECK(file.find("t1999")->begin == 7996);
}

TEST_CASE("a tensor with numbers of an unknown kind is skipped unless it is needed") {
  const TemporaryFolder folder;
  for (const char* kind :
       {"F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4", "C64", "f32", ""}) {
    INFO(kind);
    const std::string header = "{" + entry("w", "2", "0,8") + "," +
                               entry("spare", "3", "8,13", kind) + "," + entry("x", "1", "13,17") +
                               "}";
    SafetensorsFile file(folder.add("model.safetensors", file_of(header, 17)));
    std::vector<Real> numbers(3);
    CHECK_NOTHROW(file.read("w", {2}, numbers.data()));
    CHECK_NOTHROW(file.read("x", {1}, numbers.data()));
    CHECK_THAT(
        message_of([&] { file.read("spare", {3}, numbers.data()); }),
        ContainsSubstring(fmt::format("spare has numbers of the kind {}, but only F32", kind)));
  }
  CHECK(complains(file_of("{" + entry("a", "2", "8,0", "F4") + "}", 8), "\"a\" ends at byte 0"));
  CHECK(complains(file_of("{" + entry("a", "2", "0,4", "F4") + "}", 8), "but 8 bytes follow"));
  CHECK(
      complains(file_of("{" + entry("a", "2", "0,4") + "," + entry("b", "2", "2,8", "F4") + "}", 8),
                "needs 8 bytes"));
}

TEST_CASE("a header that is mostly one text is refused before it is parsed") {
  const std::string long_text(1000001, 'n');
  const std::string quotes = "\\\"";
  std::string many_quotes;
  for (int i = 0; i < 500001; ++i) many_quotes += quotes;
  for (const std::string& json :
       {"{\"" + long_text + "\":[]}", "{\"" + many_quotes + "\":{}}",
        "{\"a\":" + std::string(1000001, '1') + "}", "{" + std::string(1000001, '\n') + "}",
        "{\"__metadata__\":{\"a\":\"" + long_text + "\"}}"}) {
    CHECK(complains(file_of(json), "begins a text of more than 1,000,000 bytes"));
  }
  const std::string usual(999000, 'n');
  CHECK(complaint(file_of("{\"__metadata__\":{\"a\":\"" + usual + "\"}}" +
                          std::string(2000000, ' '))) == "");
}

TEST_CASE("a header with more entries than any model has is refused") {
  std::string tensors = "{";
  std::string texts = "{\"__metadata__\":{";
  for (int i = 0; i <= 100000; ++i) {
    tensors += entry(fmt::format("{}", i), "0", "0,0") + ",";
    texts += fmt::format("\"{}\":\"\",", i);
  }
  tensors.back() = '}';
  texts.back() = '}';
  CHECK(complains(file_of(tensors), "more than 100,000 tensors and texts"));
  CHECK(complains(file_of(texts + "}"), "more than 100,000 tensors and texts"));
}

TEST_CASE("a name that is long or hostile does not fill the message") {
  const std::string words = complaint(file_of("{\"" + std::string(100000, 'n') + "\":[]}"));
  CHECK(words.find("nnn…\" is a list") != words.npos);
  CHECK(words.size() < 300);
}

TEST_CASE("the parameters of the smallest GPT-2 are counted without making it") {
  CHECK(parameter_count({50257, 1024, 12, 12, 768}) == 124439808);
  CHECK(parameter_count({50257, 1024, 48, 25, 1600}) == 1557611200);
  CHECK(parameter_count({2, 1, 1, 1, 1}) == 30);
}

TEST_CASE("sizes that no model can have are refused with the number") {
  const Config good{65, 64, 4, 4, 128, Real(0.1)};
  require_valid(good);
  const auto refused = [&good](const std::function<void(Config&)>& change, const char* part) {
    Config config = good;
    change(config);
    return message_of([&] { require_valid(config); }).find(part) != std::string::npos;
  };
  CHECK(refused([](Config& c) { c.symbols = 0; }, "the number of symbols is 0: at least 1"));
  CHECK(refused([](Config& c) { c.context = 0; }, "the context is 0"));
  CHECK(refused([](Config& c) { c.layers = 0; }, "the number of layers is 0"));
  CHECK(refused([](Config& c) { c.heads = 0; }, "the number of heads is 0"));
  CHECK(refused([](Config& c) { c.width = 0; }, "the width is 0"));
  CHECK(refused([](Config& c) { c.heads = 3; },
                "a width of 128 columns cannot be divided evenly among 3 heads"));
  CHECK(refused([](Config& c) { c.heads = 256; }, "128 columns cannot be divided"));
  CHECK(refused([](Config& c) { c.dropout = 1; }, "dropout is 1: it must be at least 0 and less"));
  CHECK(refused([](Config& c) { c.dropout = Real(-0.5); }, "dropout is -0.5"));
  CHECK(refused([](Config& c) { c.dropout = std::numeric_limits<Real>::quiet_NaN(); },
                "dropout is nan"));
}

TEST_CASE("sizes with more parameters than can be counted are refused") {
  constexpr std::size_t huge = ~std::size_t{0} / 4 + 1;  // times 4 it is 0
  for (const Config& config :
       {Config{huge, 64, 4, 4, 128}, Config{65, huge, 4, 4, 128}, Config{65, 64, huge, 4, 128},
        Config{65, 64, 4, 4, huge}, Config{huge, huge, huge, huge, huge},
        Config{65, 64, 4, 1, std::size_t{1} << 32}, Config{65, 64, 1000000, 1000, 1000000}}) {
    INFO(config.layers << " layers of width " << config.width);
    CHECK_THAT(message_of([&] { parameter_count(config); }),
               ContainsSubstring("have more than 1000000000000 parameters"));
    CHECK_THAT(message_of([&] { require_valid(config); }),
               ContainsSubstring("have more than 1000000000000 parameters"));
  }
}

namespace {

/// The config.json of the published GPT-2, shortened, with a setting more or another.
std::string published_config(const std::string& change = "") {
  const std::string key = change.substr(0, change.find(':'));
  std::string json = "{";
  for (const char* setting :
       {R"("model_type":"gpt2")", R"("activation_function":"gelu_new")", R"("attn_pdrop":0.1)",
        R"("embd_pdrop":0.1)", R"("resid_pdrop":0.1)", R"("initializer_range":0.02)",
        R"("layer_norm_epsilon":1e-05)", R"("n_ctx":1024)", R"("n_embd":768)", R"("n_head":12)",
        R"("n_layer":12)", R"("n_positions":1024)", R"("summary_activation":null)",
        R"("task_specific_params":{"text-generation":{"do_sample":true}})",
        R"("vocab_size":50257)"}) {
    if (std::string(setting).substr(0, key.size()) != key || key.empty()) {
      json += std::string(setting) + ",";
    }
  }
  if (!change.empty()) json += change + ",";
  json.back() = '}';
  return json;
}

bool refuses_config(const std::string& json, const std::string& part) {
  return message_of([&] { parse_config(json, "config.json"); }).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the config of the published GPT-2 is read") {
  const ConfigFile file = parse_config(published_config(), "config.json");
  CHECK(file.config.symbols == 50257);
  CHECK(file.config.context == 1024);
  CHECK(file.config.layers == 12);
  CHECK(file.config.heads == 12);
  CHECK(file.config.width == 768);
  CHECK(file.config.dropout == Real(0.1));
  CHECK_FALSE(file.own_head);
  CHECK(parse_config(published_config(R"("tie_word_embeddings":false)"), "").own_head);
}

TEST_CASE("a config comes back from a file") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "config.json";
  for (const Real dropout : {Real(0), Real(0.1), Real(1) / 3}) {
    write_config(path, {65, 64, 4, 2, 128, dropout});
    const ConfigFile file = read_config(path);
    CHECK(file.config.symbols == 65);
    CHECK(file.config.context == 64);
    CHECK(file.config.layers == 4);
    CHECK(file.config.heads == 2);
    CHECK(file.config.width == 128);
    CHECK(file.config.dropout == dropout);
    CHECK_FALSE(file.own_head);
  }
  CHECK(config_json({65, 64, 4, 2, 128, Real(0.1)}).find("\"attn_pdrop\": 0.1,") !=
        std::string::npos);
}

TEST_CASE("models that compute something else are refused with the setting") {
  for (const char* same :
       {R"("n_inner":3072)", R"("n_inner":null)", R"("activation_function":"gelu_pytorch_tanh")",
        R"("scale_attn_weights":true)", R"("layer_norm_epsilon":0.00001)", R"("hidden_size":768)",
        R"("pruned_heads":{})", R"("reorder_and_upcast_attn":true)", R"("use_cache":false)"}) {
    INFO(same);
    CHECK_NOTHROW(parse_config(published_config(same), "config.json"));
  }
  CHECK(refuses_config(published_config(R"("n_inner":1024)"),
                       "config.json: n_inner is 1024, but this program needs null"));
  for (const char* other :
       {R"("model_type":"bert")", R"("model_type":null)", R"("activation_function":"gelu")",
        R"("activation_function":"relu")", R"("scale_attn_weights":false)",
        R"("scale_attn_by_inverse_layer_idx":true)", R"("layer_norm_epsilon":1e-6)",
        R"("layer_norm_epsilon":"1e-5")", R"("add_cross_attention":true)", R"("n_ctx":512)",
        R"("is_encoder_decoder":true)", R"("pruned_heads":{"0":[1]})", R"("hidden_size":512)",
        R"("quantization_config":{"bits":4})", R"("tie_word_embeddings":"yes")",
        R"("num_hidden_layers":6)", R"("num_attention_heads":6)",
        R"("max_position_embeddings":512)"}) {
    const std::string setting = other;
    INFO(setting);
    const std::string key = setting.substr(1, setting.find('"', 1) - 1);
    CHECK(refuses_config(published_config(setting), "config.json: " + key + " is "));
  }
}

TEST_CASE("three kinds of dropout that differ are no hindrance where nothing is dropped") {
  const ConfigFile file = parse_config(published_config(R"("embd_pdrop":0.2)"), "config.json");
  CHECK(
      file.untrainable ==
      "config.json: embd_pdrop, attn_pdrop and resid_pdrop are 0.2, 0.1 and 0.1, but this program "
      "trains with one number for all three");
  CHECK(file.config.dropout == 0);
  CHECK(parse_config(published_config(), "config.json").untrainable.empty());
  CHECK(refuses_config(published_config(R"("embd_pdrop":1.5)"), "embd_pdrop is 1.5"));
  const std::string sizes =
      R"({"vocab_size":65,"n_positions":64,"n_layer":4,"n_head":4,"n_embd":128)";
  CHECK(parse_config(sizes + "}", "").config.dropout == Real(0.1));
  for (const char* share : {"1", "-0.1", "1e300", "0.99999999999999999"}) {
    std::string json = sizes;
    for (const char* place : {"embd", "attn", "resid"}) {
      json += fmt::format(",\"{}_pdrop\":{}", place, share);
    }
    INFO("a dropout of " << share);
    CHECK(refuses_config(json + "}", "config.json"));
  }
}

TEST_CASE("sizes in a config must be whole numbers of a valid model") {
  for (const char* key : {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"}) {
    for (const char* value : {"-1", "-0", "12.0", "1e400", "1e2", "18446744073709551616", "null",
                              "\"12\"", "[]", "{}", "true", "NaN", "0", "18446744073709551615"}) {
      const std::string setting = fmt::format("\"{}\":{}", key, value);
      INFO(setting);
      CHECK(refuses_config(published_config(setting), "config.json"));
    }
  }
  CHECK(refuses_config(published_config(R"("n_head":-1)"),
                       "config.json: n_head is -1, but this program needs a whole number"));
  CHECK(
      refuses_config(published_config(R"("n_head":7)"),
                     "config.json: a width of 768 columns cannot be divided evenly among 7 heads"));
  CHECK(refuses_config("{}", "config.json has no vocab_size"));
}

TEST_CASE("a config that is no JSON object is refused") {
  CHECK(refuses_config("", "config.json is not JSON: it cannot be read at byte 1"));
  CHECK(refuses_config("[]", "config.json is not a JSON object"));
  CHECK(refuses_config("{\"n_embd\": 1e400}", "config.json has a number that is too large"));
  CHECK(refuses_config(published_config() + "x", "config.json is not JSON"));
  CHECK(refuses_config(published_config() + std::string(1, '\0') + "x", "is 0x00"));
  std::string twice = published_config();
  twice.back() = ',';
  CHECK(refuses_config(twice + "\"n_embd\":1}", "config.json has the key \"n_embd\" twice"));
}

TEST_CASE("a config that is nested deeply is refused and not recursed into") {
  constexpr std::size_t deep = 40000;
  std::string lists = std::string(deep, '[') + std::string(deep, ']');
  CHECK(refuses_config(lists, "config.json is not a JSON object"));
  CHECK(refuses_config(published_config("\"n_head\":" + lists), "n_head is array"));
  CHECK(refuses_config(published_config("\"pruned_heads\":{\"0\":" + lists + "}"),
                       "pruned_heads is object"));
  CHECK_NOTHROW(parse_config(published_config("\"ignored\":" + lists), "config.json"));
}

TEST_CASE("config files that cannot be read are refused") {
  const TemporaryFolder folder;
  CHECK_THAT(message_of([&] { read_config(folder.path() / "config.json"); }),
             ContainsSubstring("config.json: No such file or directory"));
  CHECK_THAT(message_of([&] { read_config(folder.path()); }), ContainsSubstring("it is a folder"));
  CHECK_THAT(message_of([&] { read_config(folder.add("big", std::string(1000001, ' '))); }),
             ContainsSubstring("big: it has more than 1,000,000 bytes"));
  CHECK_THAT(message_of([&] { read_config(folder.add("other", "text")); }),
             ContainsSubstring("other is not JSON"));
}

TEST_CASE("a vocabulary has each character of a text once in the order of Unicode") {
  const Vocabulary vocabulary("banana é\n\U0001F600");
  CHECK(vocabulary.size() == 7);  // \n, space, a, b, n, é, 😀
  CHECK(vocabulary.encode("\n abné\U0001F600") == std::vector<int>{0, 1, 2, 3, 4, 5, 6});
  CHECK(vocabulary.decode({3, 2, 4, 2, 4, 2, 1, 5, 0, 6}) == "banana é\n\U0001F600");
  CHECK(vocabulary.encode("").empty());
  CHECK(vocabulary.decode({}) == "");
}

TEST_CASE("a symbol that the model has never seen is named with its place") {
  const Vocabulary vocabulary("the cat\n");
  CHECK_THAT(
      message_of([&] { vocabulary.encode("the é"); }),
      ContainsSubstring("the prompt has the symbol “é” at byte 4, which the model has never seen"));
  CHECK_THAT(message_of([&] { vocabulary.encode("th\te", "the text"); }),
             ContainsSubstring(
                 "the text has the symbol U+0009 at byte 2, which the model has never seen"));
  CHECK_THAT(message_of([&] { vocabulary.encode("the\xFF"); }),
             ContainsSubstring("the prompt is not UTF-8: byte 3 is 0xFF"));
  CHECK_THAT(message_of([&] {
               vocabulary.decode({0, 7});
             }),
             ContainsSubstring("there is no symbol 7: they are 0 to 6"));
  CHECK_THAT(message_of([&] { vocabulary.decode({-1}); }),
             ContainsSubstring("there is no symbol -1"));
}

TEST_CASE("a vocabulary of fewer than two symbols is refused") {
  CHECK_THAT(message_of([] { Vocabulary("aaaa"); }),
             ContainsSubstring("the text has 1 different characters: at least 2 are needed"));
  CHECK_THAT(message_of([] { Vocabulary(""); }),
             ContainsSubstring("the text has 0 different characters"));
  CHECK_THAT(message_of([] { Vocabulary("a\xC3", "book.txt"); }),
             ContainsSubstring("book.txt is not UTF-8: byte 1 is 0xC3"));
  CHECK_THAT(message_of([] { Vocabulary::from_json("[]", "x"); }),
             ContainsSubstring("x has 0 different characters"));
  CHECK_THAT(message_of([] { Vocabulary::from_json("[\"a\"]", "x"); }),
             ContainsSubstring("x has 1 different characters"));
  CHECK(Vocabulary("ab").size() == 2);
}

TEST_CASE("a vocabulary comes back from a file with the same numbers") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "characters.json";
  const std::string text = "\t\n\r \"\\/<é\u00A0\u3000地\U0001F600\u0301";
  const Vocabulary vocabulary(text);
  vocabulary.save(path);
  const Vocabulary again = Vocabulary::load(path);
  CHECK(again.size() == vocabulary.size());
  CHECK(again.encode(text) == vocabulary.encode(text));
  CHECK(again.decode(again.encode(text)) == text);
  CHECK(Vocabulary::from_json("[\"b\", \"a\"]", "").encode("ab") == std::vector<int>{1, 0});
  CHECK(Vocabulary("ab").to_json() == "[\"a\",\"b\"]\n");
}

TEST_CASE("lists of anything but different characters are refused with the entry") {
  const auto refused = [](const std::string& json, const std::string& part) {
    return message_of([&] { Vocabulary::from_json(json, "characters.json"); }).find(part) !=
           std::string::npos;
  };
  CHECK(refused("{\"a\":0}", "characters.json is not a JSON array"));
  CHECK(refused("[\"a\",\"b\"", "characters.json is not JSON"));
  CHECK(refused("[\"a\",0]", "entry 1 of characters.json is no text of one character"));
  CHECK(refused("[\"a\",\"\"]", "entry 1 of characters.json is no text of one character"));
  CHECK(refused("[\"a\",[\"b\"]]", "entry 1 of characters.json is no text of one character"));
  CHECK(refused("[\"ab\",\"c\"]", "entry 0 of characters.json has several characters"));
  CHECK(refused("[\"a\",\"b\",\"a\"]", "entry 2 of characters.json is “a” again"));
  CHECK(refused("[\"a\",\"\\u0061\"]", "entry 1 of characters.json is “a” again"));
  CHECK(refused("[\"a\",\"\\u001b\"]",
                "entry 1 of characters.json has the control character U+001B"));
  CHECK(refused("[\"a\",\"\\u0000\"]", "the control character U+0000"));
  CHECK(refused("[\"a\",\"\xFF\"]", "characters.json is not JSON"));
  CHECK(refused("[\"a\",\"\\ud800\"]", "characters.json is not JSON"));
  CHECK(refused(std::string(40000, '[') + std::string(40000, ']'), "entry 0"));
  CHECK_THAT(message_of([] { Vocabulary::load("/nowhere/characters.json"); }),
             ContainsSubstring("cannot read /nowhere/characters.json: No such file or directory"));
}

TEST_CASE("texts that nothing can be learned from are refused") {
  const TemporaryFolder folder;
  const auto refused = [&folder](const std::string& content, const std::string& part) {
    const fs::path path = folder.add("book.txt", content);
    return message_of([&] { read_text(path); }).find(path.string() + " " + part) !=
           std::string::npos;
  };
  CHECK(read_text(folder.add("book.txt", "a\tb\r\nc\f é地")) == "a\tb\r\nc\f é地");
  CHECK(refused("", "is empty: there is not one symbol in it"));
  CHECK(refused(std::string("a\0b", 3), "has the control character U+0000 at byte 1"));
  CHECK(refused("text \x1B[31m", "has the control character U+001B at byte 5"));
  CHECK(
      refused("\x7F"
              "ELF",
              "has the control character U+007F at byte 0"));
  CHECK(refused("caf\xE9 au lait", "is not UTF-8: byte 3 is 0xE9"));
  CHECK(refused("ab\xC3", "is not UTF-8: byte 2 is 0xC3"));
  CHECK_THAT(message_of([&] { read_text(folder.path() / "no.txt"); }),
             ContainsSubstring("no.txt: No such file or directory"));
  CHECK_THAT(message_of([&] { read_text(folder.path()); }), ContainsSubstring("it is a folder"));
}

TEST_CASE("the book's own text is the prose of its chapters in their order") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "02_two");
  fs::create_directories(folder.path() / "01_one");
  folder.add("02_two/README.md", "The end.\n");
  folder.add("01_one/README.md",
             "# One\n\n<!-- listing -->\n```cpp\nint x;\n```\n<!-- end -->\n\n**Bold** is `code`, "
             "0.5<!-- = a.b "
             "-->, $x$ and $g_x$, and so. [✓][a\nname] [✓][another]\nNot so:\n[✓][a "
             "third] on.\n\n<!-- tests -->\n[another]: ../a.cpp#L3 \"another\"\n<!-- end -->\n| "
             "a | b |\n"
             "![A map](map.svg)\n$$\nx\n$$\n");
  CHECK(book_text(folder.path()) ==
        "One\n\nBold is code, 0.5, x and , and so.\nNot so: on.\n\nThe end.\n");
  CHECK_THAT(message_of([&] { book_text(folder.path() / "02_two"); }),
             ContainsSubstring("name a text with --data"));
}
