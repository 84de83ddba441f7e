// An object store that checks who asks: s3rver keeps the objects, but takes every signature of version 4 for good. So each
// request is signed anew by aws4, which knows nothing of our code, and refused unless it comes to the same.
// node store.mjs DIRECTORY PORT
import { createHash } from "node:crypto";
import http from "node:http";
import aws4 from "aws4";
import S3rver from "s3rver";

const [directory, port] = process.argv.slice(2);
const key = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const store = new S3rver({
  directory, address: "127.0.0.1", port: 0, silent: true, vhostBuckets: false, configureBuckets: [{ name: "sluice" }],
});

function fault(request, body) {
  const sent = request.headers.authorization ?? "";
  const [, region, names] = /Credential=[^/]+\/\d{8}\/([^/]+)\/s3\/aws4_request,SignedHeaders=([^,]+),/.exec(sent) ?? [];
  if (!region) return "the request is not signed";
  const headers = Object.fromEntries(names.split(";").map((name) => [name, request.headers[name]]));
  const signed = aws4.sign({ service: "s3", region, method: request.method, path: request.url, host: headers.host, headers }, key);
  if (signed.headers.Authorization.replaceAll(", ", ",") !== sent) return "the signature is another";
  const digest = createHash("sha256").update(body).digest("hex");
  return digest === request.headers["x-amz-content-sha256"] ? "" : "the body is another";
}

const { port: inner } = await store.run();
http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    const why = fault(request, body);
    if (why) {
      response.writeHead(403, { "Content-Type": "application/xml" });
      return response.end(`<Error><Code>SignatureDoesNotMatch</Code><Message>${why}</Message></Error>`);
    }
    const asked = http.request({ port: inner, host: "127.0.0.1", method: request.method, path: request.url, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
    asked.on("error", () => response.destroy());
    asked.end(body);
  });
}).listen(Number(port), "127.0.0.1");
