// Prints what AsyncAPI's own parser finds in the documents that are named, as JSON: by document a list of
// [severity, code, path], severity 0 for an error and 1 for a warning.
import { Parser, fromFile } from "@asyncapi/parser";

const found = {};
for (const file of process.argv.slice(2)) {
  const { diagnostics } = await fromFile(new Parser(), file).parse();
  found[file] = diagnostics.map(({ severity, code, path }) => [severity, code, path.join("/")]);
}
console.log(JSON.stringify(found));
