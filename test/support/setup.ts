// @peculiar/x509 resolves its providers through reflect-metadata, which must be loaded before it.
import 'reflect-metadata';
