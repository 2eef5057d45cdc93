// Judges a Sigstore bundle with @sigstore/verify, for tools/test-registry.sh. Its folder has the packages.
//
//   node judge.mjs PUBLIC_KEY BUNDLE SHA256
//
// It ends with code 1 unless the key signed the bundle and a subject of its statement has this digest.
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { bundleFromJSON } from "@sigstore/bundle";
import { Verifier, toSignedEntity, toTrustMaterial } from "@sigstore/verify";

const [keyFile, bundleFile, sha256] = process.argv.slice(2);
const publicKey = createPublicKey(readFileSync(keyFile));
const root = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
// A team's own key: there is no log, and no authority of times.
const trust = toTrustMaterial(root, () => ({ publicKey, validFor: () => true }));
const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
const bundle = bundleFromJSON(JSON.parse(readFileSync(bundleFile, "utf8")));
try {
  verifier.verify(toSignedEntity(bundle));
  const statement = JSON.parse(bundle.content.dsseEnvelope.payload.toString("utf8"));
  if (!statement.subject.some((subject) => subject.digest.sha256 === sha256)) {
    throw new Error(`no subject has the digest ${sha256}`);
  }
} catch (error) {
  console.error(`refused: ${error.message}`);
  process.exit(1);
}
console.log("accepted");
