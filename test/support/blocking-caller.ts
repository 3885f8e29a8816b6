/** A thread that makes one blocking read and posts its rows. */
import { parentPort, workerData } from "node:worker_threads";
import { BlockingReader, type ReaderLink } from "#storage/postgres/blocking-reader";

const { link, text } = workerData as { link: ReaderLink; text: string };
const reader = new BlockingReader(link);
const rows = reader.all(text);
reader.close();
parentPort?.postMessage(rows);
